"""read, analysis → [serve].  Questions and answers as HTTP.

routes    the table of the query API            run_routes, content_routes   its handlers
params    what a URL may say                    answering                    answers as responses
schemas   types of answers → OpenAPI            errors, auth                 what goes wrong, who may ask
health, metrics                                 for those who run it
"""
