"""A cohort split over the processes of a Ray cluster; see `ray_workers.RayWorkers`."""
