// A client of the protocol that is not ours: the TypeScript SDK, of 2025 (sdk) or of 2026 (client).
//   node mcp_client.mjs MODULES sdk|client stdio COMMAND ARG...
//   node mcp_client.mjs MODULES sdk|client http URL TOKEN
// Prints one JSON object: what it was told, and what came of its calls.
import { pathToFileURL } from 'node:url'

const [modules, era, kind, ...rest] = process.argv.slice(2)
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href)
const parts = {
  sdk: ['sdk/dist/esm/client/index.js', 'sdk/dist/esm/client/stdio.js', 'sdk/dist/esm/client/streamableHttp.js'],
  client: ['client/dist/index.mjs', 'client/dist/stdio.mjs', 'client/dist/index.mjs'],
}[era]
const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }] = await Promise.all(parts.map(load))

const options = era === 'client' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}
const client = new Client({ name: 'independent', version: '1' }, options)
const headers = { Authorization: `Bearer ${rest[1]}` }
await client.connect(
  kind === 'stdio'
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers } }),
)
const { tools } = await client.listTools()
const say = await client.callTool({ name: 'say', arguments: { text: 'grüß dich', loud: true } })
const fail = await client.callTool({ name: 'fail', arguments: {} })
console.log(JSON.stringify({ server: client.getServerVersion(), about: client.getInstructions(), tools, say, fail }))
await client.close()
process.exit(0)
