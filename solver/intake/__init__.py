"""From a configuration to an inventory: what a model is made of, without its weights."""
