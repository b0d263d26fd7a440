"""[cli]: the commands that answer what runs wait for."""
