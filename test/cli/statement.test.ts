import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEnvelope } from '../../src/proof/envelope/parse-envelope.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { publishingCliApp } from '../helpers/cli-app.ts'
import { runCommand } from '../helpers/run-command.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { verifierKeyOf } from '../helpers/test-proof.ts'

const pae = (type: string, payload: Buffer) =>
  Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])

test('a statement is shown as it was signed, and exported as DSSE under a key of the exporter', async (t) => {
  const app = await publishingCliApp(t)
  const publish = await makePublish(t, app)
  const record = await app.notarize()
  await publish()
  const [line] = (await app.send('GET', `/v1/entries?after=${record.entry.seq - 1}`)).body.split('\n')
  const signed = Buffer.from(parseEnvelope(Buffer.from(JSON.parse(line!).envelope, 'base64')).payload)
  assert.equal((await runCommand(['statement', record.id])).stdout, `${signed}\n`)

  const file = join(app.files.directory, 'dsse.json')
  const keys = {
    ed25519: generateKeyPairSync('ed25519'),
    p256: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  }
  for (const [name, { privateKey }] of Object.entries(keys)) {
    const pem = app.files.write(`${name}.pem`, privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const dsse = ['statement', record.id, '--format', 'dsse', '--dsse-key', pem, '-o', file]
    assert.deepEqual(await runCommand(dsse), { code: 0, stdout: '', stderr: '' })
    const { payload, payloadType, signatures } = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual([payload, payloadType], [signed.toString('base64'), 'application/vnd.in-toto+json'])
    const [{ keyid, sig }] = signatures
    assert.match(keyid, /^[0-9a-f]{64}$/)
    const digest = name === 'ed25519' ? null : 'sha256'
    const message = pae(payloadType, signed)
    assert.ok(verify(digest, message, createPublicKey(privateKey), Buffer.from(sig, 'base64')))
    const named = await runCommand([...dsse.slice(0, -2), '--key-id', 'mine'])
    assert.equal(JSON.parse(named.stdout).signatures[0].keyid, 'mine')
  }

  const pem = app.files.write(
    'rsa.pem',
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
  )
  for (const args of [
    ['--format', 'dsse'],
    ['--format', 'xml'],
    ['--dsse-key', pem],
    ['--key-id', 'mine'],
    ['--format', 'dsse', '--dsse-key', pem],
    ['--format', 'dsse', '--dsse-key', file],
  ])
    assert.equal((await runCommand(['statement', record.id, ...args])).code, 64, args.join(' '))
  const foreign = ['statement', record.id, '--note-key', verifierKeyOf(makeChain())]
  assert.equal((await runCommand(foreign)).code, 1)
})

test('a statement other than the requested one is neither printed nor signed', async (t) => {
  const app = await publishingCliApp(t)
  const publish = await makePublish(t, app)
  const [wanted, other] = [await app.notarize(), await app.notarize()]
  await publish()
  const places = [[wanted.id, other.id] as const, [`/${wanted.entry.seq}/`, `/${other.entry.seq}/`] as const]
  const server = createServer(async ({ url, headers }, response) => {
    const { authorization } = headers
    const asked = places.reduce((path, [from, to]) => path.replace(from, to), url!)
    const answer = await fetch(app.url + asked, { headers: { authorization: authorization! } })
    response.writeHead(200, { 'content-type': 'application/json' }).end(await answer.text())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => void server.close())
  process.env['TALLYSTICK_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const entry of [wanted.id, String(wanted.entry.seq)]) {
    const { code, stdout, stderr } = await runCommand(['statement', entry])
    assert.match(stderr, /which was not requested/)
    assert.deepEqual([code === 0, stdout], [false, ''])
  }
})
