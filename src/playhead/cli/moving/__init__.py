"""`playhead export` and `playhead import`: records that move between collectors, and from other tools.

commands      what the commands take
exporting     what `export` does                        taken       records, contents and threads of runs
local_export  what `export --local` does
export_files  the files that are written                ref_queue   which refs are still to be taken
importing     what `import` does                        sources     files → records, contents and threads
uploading     what is sent to the collector             continuing  how far an interrupted import has come
progress      what a person sees meanwhile
"""
