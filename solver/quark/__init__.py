"""What the AMD Quark that is installed here says: never needed to plan, and imported only where it is asked for."""
