"""How a crawler proves who it is: by a signature, or by its address."""
