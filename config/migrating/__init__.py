"""Parts of the commands `migrate` and `start`: replaced migrations, and turns of processes."""
