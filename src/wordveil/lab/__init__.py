"""The reproduction of the papers, and what only it uses: nothing else in the package imports this one."""
