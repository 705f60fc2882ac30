#!/usr/bin/env python3
"""Django's command line for this project."""

import gc
import os
import sys

# Imports make many objects and hardly any garbage. Collecting as often as Python does takes a fifth of a start.
gc.set_threshold(50_000, 20, 50)

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import Error

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:  # Ctrl-C, also of run.py's build of the documentation
        sys.exit(130)
    except ImproperlyConfigured as error:
        sys.exit(f"manage.py: {error}")
    except Error as error:  # of commands that are Django's own; kit.commands handles the others'
        from kit.storage.outage_causes import SCHEMA_DIFFERS, describe_outage, is_outage, outage_cause

        if not is_outage(error) or outage_cause(error) == SCHEMA_DIFFERS:
            raise
        sys.exit(f"CommandError: {describe_outage(error)}")
