// A server of the protocol of 2026 that is not ours: the TypeScript SDK's. `grow` gives it another tool.
//   node mcp_server.mjs MODULES
import { pathToFileURL } from 'node:url'

const load = (path) => import(pathToFileURL(`${process.argv[2]}/@modelcontextprotocol/server/dist/${path}`).href)
const { McpServer, fromJsonSchema } = await load('index.mjs')
const { serveStdio } = await load('stdio.mjs')

serveStdio(
  () => {
    const server = new McpServer({ name: 'modern', version: '1' }, { instructions: 'Speaks the newest protocol.' })
    const words = (text) => ({ content: [{ type: 'text', text }] })
    const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    server.registerTool('say', { description: 'Says it.', inputSchema: fromJsonSchema(schema) }, async ({ text }) => words(text))
    server.registerTool('grow', { description: 'Grows.' }, async () => {
      server.registerTool('grown', { description: 'New.' }, async () => words('new'))
      return words('done')
    })
    return server
  },
  { legacy: 'reject' },
)
