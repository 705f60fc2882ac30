"""Shared parts of the admin, in the order in which to read them.

- `model_admin`: the bases of every ModelAdmin, built on `mixins`, `scope` (which accounts an operator sees), `lists`
  (paging, sorting, saved filters, columns) and `history`.
- `fields`, `related` and `times` are form fields. `refusals` shows a service's errors at them.
- `forms.confirmation`: actions that ask first. `forms.confirmed_form`: forms that ask before saving.
  `forms.stale_forms` and `tickets` keep a form from overwriting a change, or from creating two objects.
- `filters`, `searching`, `exporting` and `suggesting` are what a list or form can add.
- `pages`, `links` and `requests` are for other pages, `figures` for those with figures and charts.
"""
