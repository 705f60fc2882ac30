"""The admin, for the people who run the service: a client of the services, as the API is.

`base` has what its pages share, `login` who gets in; the other folders are the sections of its sidebar. `admin`
registers every page, `navigation` is the sidebar itself.
"""
