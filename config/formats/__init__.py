"""How the admin writes times; they are in UTC. Django looks here by FORMAT_MODULE_PATH."""
