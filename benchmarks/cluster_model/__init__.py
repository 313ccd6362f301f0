"""What a job costs on a cluster that is not here: measured costs, and a simulation with them."""
