"""Commonplace in other people's frameworks. Each module stands alone and speaks to a server over HTTP.

Imports nothing else of this project: a module may be copied into a project of yours.
"""
