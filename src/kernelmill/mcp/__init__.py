"""The MCP server: a coding agent is the generator of a campaign."""
