import { createSocket } from 'node:dgram'
import { promises as dns, type ResolverOptions } from 'node:dns'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }

export type NameServer = {
  makeResolver(options: ResolverOptions): dns.Resolver
  /** Questions in order of arrival, such as `A example.com`. */
  readonly questions: readonly string[]
}

/**
 * Starts a name server on this machine. `answer` returns the addresses of a name. For an empty list, the server answers
 * NXDOMAIN. For null, the server sends no answer.
 */
export async function startNameServer(
  t: TestContext,
  answer: (type: 'A' | 'AAAA', name: string) => readonly string[] | null,
): Promise<NameServer> {
  const socket = createSocket('udp4')
  const questions: string[] = []
  socket.on('message', (query, from) => {
    const { name, end } = nameOf(query)
    const type = TYPES[query.readUInt16BE(end)]!
    questions.push(`${type} ${name}`)
    const ips = answer(type, name)
    if (ips !== null) socket.send(answerOf(query.subarray(0, end + 4), type, ips), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return {
    questions,
    makeResolver(options) {
      const resolver = new dns.Resolver(options)
      resolver.setServers([`127.0.0.1:${socket.address().port}`])
      return resolver
    },
  }
}

/** Returns the name of the first question (RFC 1035 §4.1.2). The question begins after the header of 12 bytes. */
function nameOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function answerOf(question: Buffer, type: 'A' | 'AAAA', ips: readonly string[]): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(ips.length > 0 ? 0x8180 : 0x8183, 2)
  head.writeUInt16BE(ips.length, 6)
  // The answer has no authority records and no additional records, so the counts of the query are replaced.
  head.writeUInt32BE(0, 8)
  const records = ips.map((ip) => {
    const data =
      type === 'A' ? Buffer.from(ip.split('.').map(Number)) : Buffer.from(ip.replaceAll(':', ''), 'hex')
    const record = Buffer.alloc(12)
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(type === 'A' ? 1 : 28, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(data.length, 10)
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, ...records])
}
