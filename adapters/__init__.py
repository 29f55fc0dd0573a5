"""What lets a system be driven by a model: the adapter base, its host, one file a framework."""
