/*
 * npm run drill -- oracles
 *
 * Lets independent programs read a ledger:
 *
 * - Go's client of checksum databases (golang.org/x/mod/sumdb) and Tessera's client and fsck read the tiles and the
 *   checkpoint of the ledger, and those of its archive.
 * - pycose verifies the ledger's receipts. securesystemslib and in-toto's library verify a statement in DSSE.
 * - A witness cosigns the ledger's checkpoints. `tallystick witness` witnesses a Tessera log.
 * - A statement that pycose signed is registered, and go-cose checks it with its receipt.
 * - OpenTelemetry's exporters of Go and Python send spans and logs.
 * - PyPI's mcp and the conformance suite of MCP use the ledger over stdio and HTTP. The official client calls three
 *   official servers through `tallystick mcp-proxy`.
 *
 * Each program, except the exporters, must also refuse a faulty input.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readDsseSigner } from '../../../cli/dsse-signer.ts'
import { Tallystick } from '../../../sdk/client.ts'
import { TallystickOperator } from '../../../sdk/operator.ts'
import * as verify from '../../../sdk/verify/index.ts'
import { buildEnvironment, findGo } from '../../../tools/go-tool.ts'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { CLI } from '../../helpers/run-cli.ts'
import { startHere } from '../deployment/deployment.ts'
import { mcpChecks } from './mcp.ts'
import { mcpServerChecks } from './mcp-servers.ts'

const HERE = import.meta.dirname
/** The tree has two full tiles and an incomplete tile, and therefore also a tile of the level above. */
const ENTRIES = 600
const BATCH_RECORDS = 70

const run = promisify(execFile)
const dir = mkdtempSync(join(tmpdir(), 'tallystick-oracles-'))
let faults = 0
const children: ChildProcess[] = []
let close = async () => {}
try {
  const python = installPythonTool('python', join(HERE, 'requirements.txt'))
  const [oracles, witness, tessera, otlp] = ['oracles', 'witness', 'tessera', 'otlp'].map((name) =>
    join(dir, name),
  ) as [string, string, string, string]
  const env = buildEnvironment(process.env)
  await run(findGo(process.env), ['build', '-mod=readonly', '-o', `${dir}/`, './...'], { cwd: HERE, env })

  const logs = save('logs', new Uint8Array())
  const [, witnessKey, witnessUrl] = await start(witness, [logs], /^(\S+) (http:\S+)\n/)
  const deployment = await startHere({
    TALLYSTICK_WITNESSES: `${witnessKey} ${witnessUrl}`,
    TALLYSTICK_ARCHIVE: `file://${join(dir, 'archive')}`,
    TALLYSTICK_ARCHIVE_SEAL_SECONDS: '0',
  })
  close = () => deployment.stop()
  const { url: baseUrl, operatorKey } = deployment
  const operator = new TallystickOperator({ baseUrl, operatorKey })
  const made = await operator.ledgers.create({ name: 'read by others' })
  const client = new Tallystick({ baseUrl, apiKey: made.key.key })
  const { noteVerifierKey } = await client.ledger.get()
  writeFileSync(logs, noteVerifierKey)
  const payload = { did: 'something' }
  await Promise.all(Array.from({ length: ENTRIES }, () => client.records.notarize({ payload })))
  const records = Array.from({ length: BATCH_RECORDS }, () => ({ type: 'generic/1', payload }) as const)
  const batch = await client.batches.notarize(records)
  const ids = [
    batch.records[0]!.id,
    batch.records[BATCH_RECORDS - 1]!.id,
    (await client.records.notarize({ payload })).id,
  ]
  const files = await Promise.all(ids.map(async (id) => save(`${id}.cose`, await client.records.receipt(id))))
  const log = `${baseUrl}/tlog/${made.ledger.id}`
  const other = await operator.ledgers.create({ name: 'another' })
  const { noteVerifierKey: othersKey } = await new Tallystick({ baseUrl, apiKey: other.key.key }).ledger.get()

  await takes('Go and Tessera, with a key', oracles, [log, noteVerifierKey, `Bearer ${made.key.key}`])
  const { size } = await client.ledger.get()
  const proof = await untilCosigned(() => client.entries.proof(size - 1, { cosignatures: 1 }))
  const byWitness = { noteKey: noteVerifierKey, witnesses: { keys: [witnessKey!] } }
  const found = await verify.proof(proof, byWitness)
  console.log(`ok   the witness of transparency-dev: cosigned ${found.treeSize} entries`)
  const cosigned = [log, noteVerifierKey, `Bearer ${made.key.key}`]
  await takes('Go, with the witness', oracles, [...cosigned, witnessKey!])
  await refuses('Go, with another witness', oracles, [
    ...cosigned,
    witnessKey!.replace('go.example', 'x.example'),
  ])
  await refuses('Go and Tessera, without one', oracles, [log, noteVerifierKey])
  await operator.ledgers.setTiles(made.ledger.id, 'public')
  await takes('Go and Tessera, in public', oracles, [log, noteVerifierKey])
  await refuses('Go and Tessera, by the key of another ledger', oracles, [log, othersKey])
  await untilArchived(join(dir, 'archive', made.ledger.id), size)
  const archive = `${await serveFolder(join(dir, 'archive'))}/${made.ledger.id}`
  await takes('Go and Tessera, an archive', oracles, [archive, noteVerifierKey])
  await refuses('Go and Tessera, an archive by the key of another ledger', oracles, [archive, othersKey])
  for (const file of files) await takes('pycose', python, [join(HERE, 'receipt.py'), file, noteVerifierKey])
  const changed = Buffer.from(await client.records.receipt(ids[0]!))
  changed[changed.length - 100]! ^= 1
  await refuses('pycose, a changed statement', python, [
    join(HERE, 'receipt.py'),
    save('changed.cose', changed),
    noteVerifierKey,
  ])

  const [, key, vkey] = /^(\S+) (\S+)/.exec((await run(tessera, ['tessera.example/log'])).stdout)!
  const [, ownKey, ownUrl] = await start(
    process.execPath,
    [
      CLI,
      'witness',
      '--state',
      join(dir, 'state'),
      '--name',
      'own.example',
      '--log',
      vkey!,
      '--listen',
      '127.0.0.1:0',
    ],
    /vkey=(\S+) url=(\S+)/,
  )
  const witnessed = (folder: string, limit: string) => [
    key!,
    vkey!,
    join(dir, folder),
    ownKey!,
    ownUrl!,
    limit,
  ]
  await takes('Tessera, witnessed by ours', tessera, witnessed('honest', '60s'))
  await refuses('Tessera, a second history of that log', tessera, witnessed('forked', '5s'))
  const { entry, keys } = await client.records.proof(ids[0]!)
  const script = join(HERE, 'dsse.py')
  const exporters = {
    ed25519: generateKeyPairSync('ed25519'),
    p256: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  }
  for (const [name, pair] of Object.entries(exporters)) {
    const privatePem = save(
      `${name}.pem`,
      Buffer.from(pair.privateKey.export({ format: 'pem', type: 'pkcs8' })),
    )
    const publicPem = save(`${name}.pub`, Buffer.from(pair.publicKey.export({ format: 'pem', type: 'spki' })))
    const signer = await readDsseSigner(privatePem, undefined)
    const dsse = await verify.toDsse(entry.envelope, { keys, signer })
    const file = save(`${name}.json`, Buffer.from(JSON.stringify(dsse)))
    await takes(`in-toto, by ${name}`, python, [script, file, publicPem])
    const payload = Buffer.from(dsse.payload, 'base64')
    payload[payload.length - 20]! ^= 1
    const changedDsse = JSON.stringify({ ...dsse, payload: payload.toString('base64') })
    const changedFile = save('changed.json', Buffer.from(changedDsse))
    await refuses(`in-toto, a changed statement by ${name}`, python, [script, changedFile, publicPem])
  }
  const issuers = []
  for (const alg of ['EdDSA', 'ES256'] as const) {
    const signed = join(dir, `${alg}.cose`)
    const { stdout } = await run(python, [join(HERE, 'sign.py'), alg, alg, '{"name":"copper"}', signed])
    const key = { kid: Buffer.from(alg).toString('hex'), alg, spki: stdout.trim() }
    issuers.push({ alg, key, statement: readFileSync(signed) })
  }
  const issuerKeys = issuers.map(({ key }) => key)
  await client.statements.setPolicy({ issuers: [{ issuer: 'https://build.example', keys: issuerKeys }] })
  for (const { alg, key, statement } of issuers) {
    const registered = await client.statements.register(statement)
    const file = await save(`${alg}.transparent.cose`, await client.statements.receipt(registered))
    const check = ['statement', file, noteVerifierKey]
    await takes(`go-cose, a statement that pycose signed (${alg})`, oracles, [...check, key.spki])
    const other = issuerKeys.find((one) => one.alg !== alg)!
    await refuses('go-cose, by the key of another issuer', oracles, [...check, other.spki])
    await refuses('go-cose, by the key of another ledger', oracles, ['statement', file, othersKey, key.spki])
  }
  for (const compression of ['none', 'gzip']) {
    const name = `python-${compression}`
    const told = [join(HERE, 'otlp.py'), baseUrl, made.key.key, compression, name]
    // The spans are sent twice, by two processes. Each process makes its own spans.
    for (const time of ['once', 'again'])
      await takes(`OpenTelemetry of Python, ${compression}, ${time}`, python, told)
    await holds(`its spans and logs, ${compression}`, async () => {
      const calls = await client.records
        .list({ reference: `gen_ai.tool.call.id:${name}-2`, type: 'otel-span/1' })
        .toArray(9)
      const logs = await client.records.list({ reference: `gen_ai.conversation.id:${name}` }).toArray(9)
      return calls.length === 2 && logs.length === 6 && logs.every(({ type }) => type === 'otel-log/1')
    })
  }
  for (const compression of ['none', 'gzip']) {
    const name = `go-${compression}`
    await passes(`OpenTelemetry of Go, ${compression}, each export twice`, () =>
      run(otlp, [name], {
        env: {
          ...process.env,
          OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl,
          OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${made.key.key}`,
          OTEL_EXPORTER_OTLP_COMPRESSION: compression,
        },
      }),
    )
    await holds(`its spans and logs, once each, with proofs, ${compression}`, async () => {
      const calls = await Promise.all(
        [0, 1, 2].map((i) =>
          client.records.list({ reference: `gen_ai.tool.call.id:${name}-${i}` }).toArray(9),
        ),
      )
      const traceId = String(calls[0]![0]?.payload?.['traceId'])
      const spans = await client.records.list({ traceId, type: 'otel-span/1' }).toArray(9)
      const logs = await client.records.list({ reference: `gen_ai.conversation.id:${name}` }).toArray(9)
      for (const { id } of [...spans, ...logs])
        await verify.proof(
          await untilCosigned(() => client.records.proof(id, { cosignatures: 1 })),
          byWitness,
        )
      return calls.every(({ length }) => length === 1) && spans.length === 4 && logs.length === 3
    })
  }
  await takes('Go and Tessera, with statements of others', oracles, [log, noteVerifierKey])
  for (const [what, check] of await mcpChecks(baseUrl, made.key.key)) await passes(what, check)
  const place = { url: baseUrl, key: made.key.key, dir }
  for (const [what, check] of await mcpServerChecks(client, place)) await passes(what, check)
} finally {
  for (const child of children) child.kill()
  await close()
  rmSync(dir, { recursive: true })
}
process.exitCode = faults > 0 ? 1 : 0

function save(name: string, bytes: Uint8Array): string {
  const file = join(dir, name)
  writeFileSync(file, bytes)
  return file
}

/** Starts a program that runs until it is killed. Returns the match of `says` in the program's first output. */
async function start(file: string, args: readonly string[], says: RegExp): Promise<RegExpExecArray> {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  for await (const chunk of child.stdout) {
    const said = says.exec(String(chunk))
    if (said) return said
  }
  throw new Error(`${file} has ended`)
}

async function untilCosigned<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left--) {
    try {
      return await ask()
    } catch (error) {
      if (left === 0) throw error
      await sleep(500)
    }
  }
}

async function holds(what: string, check: () => Promise<boolean>): Promise<void> {
  const isHeld = await check()
  console.log(`${isHeld ? 'ok  ' : 'not '} ${what}`)
  if (!isHeld) faults++
}

async function untilArchived(folder: string, size: number): Promise<void> {
  const sizeOf = () => {
    try {
      return Number(readFileSync(join(folder, 'checkpoint'), 'utf8').split('\n')[1])
    } catch {
      return 0
    }
  }
  while (sizeOf() < size) await sleep(100)
}

async function serveFolder(folder: string): Promise<string> {
  const server = createServer((request, answer) => {
    try {
      answer.end(readFileSync(join(folder, request.url!)))
    } catch {
      answer.writeHead(404).end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function takes(what: string, file: string, args: readonly string[]): Promise<void> {
  return passes(what, () => run(file, args))
}

async function passes(what: string, check: () => Promise<{ readonly stdout: string }>): Promise<void> {
  const error = await check().then(
    ({ stdout }) => void console.log(`ok   ${what}: ${stdout.trim().replaceAll('\n', '; ')}`),
    (error: Error & { stderr?: string }) => error.stderr ?? error.stack ?? error.message,
  )
  if (error === undefined) return
  faults++
  console.log(`FAIL ${what}:\n${error}`)
}

async function refuses(what: string, file: string, args: readonly string[]): Promise<void> {
  const error = await run(file, args).then(
    () => undefined,
    (error: { stderr: string }) => error.stderr,
  )
  if (error === undefined) faults++
  console.log(
    error === undefined
      ? `FAIL ${what}: took it`
      : `ok   ${what}: refused (${error.trim().split('\n').at(-1)})`,
  )
}
