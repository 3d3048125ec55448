// A client of the protocol that is not ours, for any server over stdio.
//   node mcp_caller.mjs MODULES sdk|client CALLS COMMAND ARG...
// CALLS is JSON, [{"name", "arguments"}, ...]. Prints one JSON object: the tools, and the results of the calls.
import { pathToFileURL } from 'node:url'

const [modules, era, calls, command, ...args] = process.argv.slice(2)
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href)
const parts = {
  sdk: ['sdk/dist/esm/client/index.js', 'sdk/dist/esm/client/stdio.js'],
  client: ['client/dist/index.mjs', 'client/dist/stdio.mjs'],
}[era]
const [{ Client }, { StdioClientTransport }] = await Promise.all(parts.map(load))

const options = era === 'client' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}
const client = new Client({ name: 'independent', version: '1' }, options)
await client.connect(new StdioClientTransport({ command, args, env: process.env }))
const { tools } = await client.listTools()
const results = []
for (const call of JSON.parse(calls)) results.push(await client.callTool(call))
console.log(JSON.stringify({ server: client.getServerVersion(), tools, results }))
await client.close()
process.exit(0)
