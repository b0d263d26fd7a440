"""`playhead export` and `playhead import`: move records between collectors, and from other tools.

commands      arguments of the two commands
exporting     what `export` does                    taken        reads runs and their contents from a collector
local_export  what `export --local` does            ref_queue    queue of the refs that are still to be read
export_files  writes the files
importing     what `import` does                    sources      files → records, contents and threads
uploading     sends them to the collector           continuing   position of an import, to continue after an abort
progress      progress bar for both
"""
