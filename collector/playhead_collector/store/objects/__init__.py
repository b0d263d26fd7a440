"""[store]: object stores: S3, Google Cloud Storage, Azure, files.  Implements `ports.objects.ObjectStore`."""
