"""Plans in the hands of serving stacks' own loaders: what each makes of every layer of a Quark export."""
