"""`playhead export` and `playhead import`: records that move between collectors, and from other tools.

commands      what the commands take
exporting     what `export` does            local_export  what `export --local` does
importing     what `import` does            sources       files → records, contents and threads
"""
