"""Parts of the commands `migrate` and `start`: what is pending, replaced migrations, and turns of processes."""
