"""The admin's time format, in UTC. Django finds it by FORMAT_MODULE_PATH."""
