"""All SQL of the service, one file a noun: concrete classes over an open connection, contract records out."""
