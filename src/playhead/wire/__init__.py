"""What crosses between the SDK and the collector over HTTP: packs of content, and the answer types of the query API."""
