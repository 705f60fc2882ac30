"""The portal: pages on which a requester reads its own licences, credit and statements."""
