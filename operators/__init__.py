"""The admin, for the people who run the service: like the API, a client of the services.

`base` has shared parts and `login` the sign-in; the other packages are the sections of the sidebar. `navigation`
lists every page, `admin` registers them.
"""
