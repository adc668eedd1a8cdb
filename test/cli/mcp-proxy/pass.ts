import { PassThrough, type Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { Calls } from '../../../cli/mcp-proxy/calls.ts'
import { McpProxy } from '../../../cli/mcp-proxy/proxy.ts'
import type { Downstream, UpstreamEnd } from '../../../cli/mcp-proxy/upstream.ts'

/**
 * Opens a proxy whose client and server are played by the test. `isRecorded`: what the ledger answers when a call waits
 * for its record; null if calls do not wait for the ledger.
 */
export function openProxy(calls: Calls, isRecorded: boolean | null) {
  const stdin = new PassThrough()
  const stdout = new PassThrough()
  const [toServer, stray]: [Buffer[], Buffer[]] = [[], []]
  let receive: Downstream['receive'] = async () => {}
  let end: (ended: UpstreamEnd) => void = () => {}
  const ended = new Promise<UpstreamEnd>((resolve) => (end = resolve))
  let clientEnded: () => void = () => {}
  const clientEnd = new Promise<void>((resolve) => (clientEnded = resolve))
  const proxy = new McpProxy({
    ...{ stdin, stdout, calls, say: () => {} },
    isRecorded: isRecorded === null ? null : async () => isRecorded,
    stray: (line) => void stray.push(line),
  })
  const run = proxy.run(
    (downstream) => {
      receive = downstream.receive
      return {
        send: async (piece) => void toServer.push(Buffer.from(piece)),
        end: () => clientEnded(),
        stop: () => {},
        ended,
      }
    },
    new Promise(() => {}),
  )
  const toClient = readAll(stdout)
  return {
    async fromClient(piece: Buffer) {
      stdin.write(piece)
      await turn()
    },
    async fromServer(piece: Buffer) {
      await receive(piece)
      await turn()
    },
    endOfClient: () => void stdin.end(),
    async close() {
      await clientEnd
      end({ why: 'the test is over', isFailure: false })
      await run
      stdout.end()
      return { toServer: Buffer.concat(toServer), toClient: await toClient, stray: Buffer.concat(stray) }
    },
  }
}

/** Passes both streams through a proxy concurrently, like pipes. */
export async function pass(
  fromClient: readonly Buffer[],
  fromServer: readonly Buffer[],
  calls: Calls,
  held = false,
) {
  const proxy = openProxy(calls, held ? true : null)
  await Promise.all([
    (async () => {
      for (const piece of fromClient) await proxy.fromClient(piece)
      proxy.endOfClient()
    })(),
    (async () => {
      for (const piece of fromServer) await proxy.fromServer(piece)
    })(),
  ])
  return proxy.close()
}

async function readAll(stream: Readable): Promise<Buffer> {
  const found: Buffer[] = []
  for await (const piece of stream) found.push(piece as Buffer)
  return Buffer.concat(found)
}
