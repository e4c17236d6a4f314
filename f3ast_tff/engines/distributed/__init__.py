"""A cohort split over the processes of a Ray cluster; see `workers.Workers`."""
