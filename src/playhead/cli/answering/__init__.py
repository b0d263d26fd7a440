"""[cli]: commands for the promises that runs wait for."""
