import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { parseAllowances } from '../../../src/outside/connector/allowances.ts'
import { Connector } from '../../../src/outside/connector/connector.ts'
import { dial } from '../../../src/outside/connector/dial.ts'
import type { OutboundError } from '../../../src/outside/connector/error.ts'
import type { ResolveName } from '../../../src/outside/connector/resolve-name.ts'
import { TLS_REASONS, tlsReasonOf } from '../../../src/outside/connector/tls-reasons.ts'
import { assertFails } from './assert-fails.ts'
import {
  listen,
  PATIENT,
  type Peer,
  request,
  resolver,
  startBytePeer,
  startConnector,
  startHttpPeer,
} from './peers.ts'

const PEM = (name: string) => readFileSync(join(import.meta.dirname, 'certificates', `${name}.pem`), 'utf8')

test('without allowances nothing of this machine is reached, by address or by name', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const connector = new Connector({
    allowances: parseAllowances(''),
    resolveName: resolver({ 'inner.example': ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254'] }),
  })
  t.after(() => connector.close())
  for (const host of ['127.0.0.1', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'inner.example']) {
    await assertRefused(connector.post(request(`https://${host}:${peer.port}/`)), 'address_refused', host)
  }
  assert.equal(peer.connections, 0)
})

test('checks the resolved address that it connects to, so DNS rebinding is refused', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  let asked = 0
  const rebinding: ResolveName = async () => {
    asked++
    return [{ address: asked === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }]
  }
  // The peer listens only at 127.0.0.1. The allowed 127.0.0.2 takes the role of a public address.
  const connector = new Connector({ allowances: parseAllowances('127.0.0.2'), resolveName: rebinding })
  t.after(() => connector.close())
  const url = `http://rebinding.example:${peer.port}/`
  await assertFails(connector.post(request(url)), 'connect_failed')
  assert.equal(asked, 1)
  await assertFails(connector.post(request(url)), 'address_refused')
  assert.equal(asked, 2)
  assert.equal(peer.connections, 0)
})

test('of a name with several addresses only those that are permitted are tried', async (t) => {
  const inner = await startHttpPeer(t, (_incoming, outgoing) => outgoing.writeHead(500).end(), '127.0.0.1')
  const outer = await listenBeside(t, inner, '127.0.0.2')
  const connector = new Connector({
    allowances: parseAllowances('127.0.0.2'),
    resolveName: resolver({ 'mixed.example': ['127.0.0.1', '::1', '10.0.0.1', '127.0.0.2'] }),
  })
  t.after(() => connector.close())
  assert.equal((await connector.post(request(`http://mixed.example:${inner.port}/`))).status, 200)
  assert.deepEqual([inner.connections, outer.connections], [0, 1])
})

test('tries the next address of either family after a refused connection', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const connector = startConnector(t, resolver({ 'two.example': ['::1', '127.0.0.2', '127.0.0.1'] }))
  assert.equal((await connector.post(request(`http://two.example:${peer.port}/`))).status, 200)
})

test('tries at most six addresses of a name', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const deaf = Array.from({ length: 6 }, (_, index) => `127.0.1.${index + 1}`)
  const connector = startConnector(
    t,
    resolver({ 'many.example': [...deaf, '127.0.0.1'], 'fewer.example': [...deaf.slice(1), '127.0.0.1'] }),
  )
  await assertFails(connector.post(request(`http://many.example:${peer.port}/`)), 'connect_failed')
  assert.equal((await connector.post(request(`http://fewer.example:${peer.port}/`))).status, 200)
})

test('plain HTTP and the ports of other protocols are only for allowed addresses, also by name', async (t) => {
  const connector = startConnector(
    t,
    resolver({ 'public.example': ['8.8.8.8'], 'mixed.example': ['8.8.8.8', '10.0.0.1'] }),
  )
  for (const url of [
    'http://public.example/',
    'https://public.example:25/',
    'http://mixed.example/',
    'http://8.8.8.8/',
  ]) {
    await assertRefused(connector.post(request(url)), 'insecure', url)
  }
})

test('a forbidden URL fails with url_refused', async (t) => {
  const connector = startConnector(t)
  for (const url of [
    'ftp://example.com/',
    'https://a:b@example.com/',
    'https://example.com/#a',
    'nonsense',
  ]) {
    await assertRefused(connector.post(request(url)), 'url_refused', url)
  }
})

test('checks the remote address again after connecting: address_refused', async (t) => {
  const peer = await startHttpPeer(t, (_incoming, outgoing) => outgoing.end())
  const error = await new Promise<OutboundError | null>((done) => {
    const options = { allowances: parseAllowances(''), allowedOnly: false, resolveName: resolver({}) }
    dial({ url: new URL(peer.url), ...options }, done)
  })
  assert.equal(error?.code, 'address_refused')
  await t.waitFor(() => assert.equal(peer.open.size, 0), PATIENT)
})

test('an unresolvable name fails with dns_failed, a closed port with connect_failed', async (t) => {
  const peer = await startBytePeer(t, () => {})
  const connector = startConnector(t, resolver({ 'deaf.example': ['127.0.0.2'] }))
  await assertFails(connector.post(request('https://none.example/')), 'dns_failed')
  await assert.rejects(connector.post(request(`http://deaf.example:${peer.port}/`)), {
    code: 'connect_failed',
    message: 'no connection could be made (ECONNREFUSED)',
  })
})

test('inner names fail with address_refused whether they exist or not, without needless DNS queries', async (t) => {
  const asked: string[] = []
  const resolveName: ResolveName = async (name) => {
    asked.push(name)
    if (!name.startsWith('db')) throw new Error('it has no address')
    return [{ address: '10.0.0.5', family: 4 }]
  }
  const names = ['db', 'db.default.svc.cluster.local', 'db.internal.', 'none', 'none.lan']
  const assertAllRefused = async (allowed: string) => {
    const connector = new Connector({ allowances: parseAllowances(allowed), resolveName })
    t.after(() => connector.close())
    for (const name of names)
      await assertRefused(connector.post(request(`https://${name}/`)), 'address_refused', name)
  }
  await assertAllRefused('')
  assert.deepEqual(asked, [])
  await assertAllRefused('10.1.0.0/16')
  assert.deepEqual(asked, names)
})

test('verifies the certificate’s authority, name and address; sends the name as SNI and Host', async (t) => {
  const connector = startConnector(
    t,
    resolver({
      'peer.example': ['127.0.0.1'],
      'peer.example.': ['127.0.0.1'],
      'other.example': ['127.0.0.1'],
    }),
  )
  const heard: unknown[] = []
  const server = createTlsServer({ key: PEM('peer-key'), cert: PEM('peer') }, (incoming, outgoing) => {
    const { servername, alpnProtocol } = incoming.socket as tls.TLSSocket
    heard.push([servername, incoming.headers.host, incoming.httpVersion, alpnProtocol])
    outgoing.end()
  })
  const { port } = await listen(t, server, '127.0.0.1')
  const url = (host: string) => `https://${host}:${port}/`
  await assert.rejects(connector.post(request(url('peer.example'))), {
    code: 'tls_failed',
    message: 'the TLS handshake failed (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
  })
  trustForThisTest(t, PEM('ca'))
  for (const host of ['peer.example', 'peer.example.', '127.0.0.1']) {
    assert.equal((await connector.post(request(url(host)))).status, 200, host)
  }
  assert.deepEqual(heard, [
    ['peer.example', `peer.example:${port}`, '1.1', 'http/1.1'],
    ['peer.example', `peer.example.:${port}`, '1.1', 'http/1.1'],
    [false, `127.0.0.1:${port}`, '1.1', 'http/1.1'],
  ])
  await assert.rejects(connector.post(request(url('other.example'))), {
    code: 'tls_failed',
    message: 'the TLS handshake failed (ERR_TLS_CERT_ALTNAME_INVALID)',
  })
})

test('the reason of a failed handshake is from a closed list', async (t) => {
  const connector = startConnector(t)
  const good = { key: PEM('peer-key'), cert: PEM('peer') }
  const expired = { key: PEM('peer-key'), cert: PEM('expired') }
  trustForThisTest(t, PEM('ca'), PEM('expired'))
  const reasonOf = async (options: object) => {
    const server = createTlsServer(options, (_incoming, outgoing) => outgoing.end())
    server.on('tlsClientError', () => {})
    const { port } = await listen(t, server, '127.0.0.1')
    const error = await connector.post(request(`https://127.0.0.1:${port}/`)).then(
      () => null,
      (error) => error,
    )
    return [error.code, error.reason]
  }
  const client = { requestCert: true, rejectUnauthorized: true }
  assert.deepEqual(await reasonOf(expired), ['tls_failed', 'CERT_HAS_EXPIRED'])
  // TLS 1.2 is used because its handshake reports the failure. With TLS 1.3 the connection is cut after the handshake,
  // without an alert.
  const [code, reason] = await reasonOf({ ...good, ...client, maxVersion: 'TLSv1.2' })
  assert.ok(code === 'tls_failed' && TLS_REASONS.includes(reason), reason)
  const h2 = { ...good, ALPNProtocols: ['h2'] }
  assert.deepEqual(await reasonOf(h2), ['tls_failed', 'ERR_SSL_ALERT_NO_APPLICATION_PROTOCOL'])
  const answers = { 'plain HTTP': 'HTTP/1.1 400 Bad Request\r\n\r\n', mail: '220 mail.example ESMTP\r\n' }
  for (const [what, bytes] of Object.entries(answers)) {
    const plain = await startBytePeer(t, (socket) => socket.end(bytes))
    const error = await connector.post(request(plain.url.replace('http:', 'https:'))).catch((error) => error)
    assert.ok(TLS_REASONS.includes(error.reason), what)
    assert.match(error.reason, /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/, what)
  }
})

test('shows an unknown reason of OpenSSL as OTHER', () => {
  assert.equal(tlsReasonOf('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'), 'ERR_SSL_ALERT_HANDSHAKE_FAILURE')
  assert.equal(tlsReasonOf('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE'), 'ERR_SSL_ALERT_HANDSHAKE_FAILURE')
  for (const code of [undefined, '', 'toString', 'ERR_SSL_OF_A_LATER_OPENSSL'])
    assert.equal(tlsReasonOf(code), 'OTHER')
})

test('a peer without TLS fails with tls_failed', async (t) => {
  const plain = await startBytePeer(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  await assertFails(startConnector(t).post(request(plain.url.replace('http:', 'https:'))), 'tls_failed')
})

/** Asserts that the post is refused. The message may name only what the author of the URL wrote. */
async function assertRefused(post: Promise<unknown>, code: string, what: string): Promise<void> {
  await assert.rejects(post, { name: 'OutboundError', code }, what)
}

async function listenBeside(t: TestContext, { port }: Peer, host: string): Promise<Peer> {
  const server = createServer((_incoming, outgoing) => outgoing.end())
  return await listen(t, server, host, port)
}

function trustForThisTest(t: TestContext, ...authorities: string[]): void {
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, ...authorities])
  t.after(() => tls.setDefaultCACertificates(before))
}
