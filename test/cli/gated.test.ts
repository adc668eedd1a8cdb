import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { recordListQuery } from '../../src/http/schemas/record-reads.ts'
import { parseLines } from '../helpers/app.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { endsWithTests } from '../helpers/children.ts'
import { sharedGatedCliApp } from '../helpers/cli-app.ts'
import { FAILING, PAYLOAD } from '../helpers/gated-app.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runCommand } from '../helpers/run-command.ts'
import { until } from '../helpers/wait.ts'
import { sendProblem, startHostile } from '../sdk/hostile-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
async function answer(args: readonly string[], input?: string): Promise<any> {
  const { code, stdout, stderr } = await runCommand(args, input === undefined ? {} : { input })
  assert.deepEqual([code, stderr], [0, ''], args.join(' '))
  return JSON.parse(stdout)
}

test('commands for gated records', async (t) => {
  const app = await sharedGatedCliApp(t)
  const { env, files } = app
  const { performer, overturner } = app.agents
  const asPerformer = ['--api-key', performer.key]
  const create = (...more: string[]) =>
    answer([
      ...[
        'create',
        '--type',
        'delivery/1',
        '--payload',
        JSON.stringify(PAYLOAD),
        '--performer',
        performer.id,
      ],
      ...more,
    ])

  await t.test('a record is created with all terms, activated, completed and judged', async () => {
    const terms = [
      '--gate',
      'principal',
      '--max-revisions',
      '2',
      '--tolerances',
      '{"quantity":{"percent":"5.5"}}',
    ]
    const created = await create(...terms, '--deadline', '2099-01-01T00:00:00Z', '--reference', 'order:1')
    assert.deepEqual(
      [
        created.state,
        created.gated.performer,
        created.gated.maxRevisions,
        created.gated.deadline,
        created.references,
      ],
      ['CREATED', performer.id, 2, '2099-01-01T00:00:00.000Z', ['order:1']],
    )
    assert.deepEqual(created.gated.tolerances, { quantity: { percent: '5.5' } })
    const { id } = created
    const activated = await answer(['activate', id, '--if-version', '1', ...asPerformer])
    assert.deepEqual([activated.state, activated.version], ['ACTIVE', 2])
    const file = files.write('evidence.json', JSON.stringify(FAILING))
    const submitted = await answer(['complete', id, '--evidence', file, ...asPerformer])
    assert.deepEqual([submitted.state, submitted.gated.completion.evidence], ['SUBMITTED', FAILING])
    const waited = answer(['get', id, '--wait', 'VERIFIED,DISCREPANT', '--timeout', '10'])
    await app.verify(id)
    assert.equal((await waited).state, 'DISCREPANT')
    assert.equal((await answer(['revise', id, '--reason', 'too few'])).state, 'ACTIVE')
    await answer(['complete', id, ...asPerformer], JSON.stringify(FAILING))
    await app.verify(id)
    const stale = await runCommand(['verdict', id, 'reject', '--if-version', '3'])
    assert.equal(stale.code, 1)
    assert.match(stale.stderr, /412 version_mismatch/)
    const rejected = await answer(['verdict', id, 'reject', '--reason', 'still too few'])
    assert.deepEqual([rejected.state, rejected.gated.verdict.reason], ['REJECTED', 'still too few'])
    const overturned = await answer(['overturn', id, '--reason', 'an appeal', '--api-key', overturner.key])
    assert.equal(overturned.state, 'ACCEPTED')
  })

  await t.test('a record is cancelled, once per idempotency key', async () => {
    const { id } = await create()
    const cancel = ['cancel', id, '--reason', 'withdrawn', '--idempotency-key', 'cancel-1']
    const cancelled = await answer(cancel)
    assert.equal(cancelled.state, 'CANCELLED')
    assert.deepEqual(await answer(cancel), cancelled)
    const never = await runCommand(['get', id, '--wait', 'VERIFIED'])
    assert.equal(never.code, 1)
    assert.match(never.stderr, /has ended as CANCELLED, and can never become VERIFIED/)
    const { id: open } = await create()
    const late = await runCommand(['get', open, '--wait', 'VERIFIED', '--timeout', '1'])
    assert.equal(late.code, 69)
    assert.match(late.stderr, /is still CREATED after 1000 ms/)
  })

  await t.test('erase removes one document at a time, only with --yes', async () => {
    const { id } = await app.reach('REJECTED')
    const { gated } = await app.get(id)
    const { completion, verdict } = gated
    const documents: string[][] = [
      ['payload'],
      ['evidence', '--completion', completion.id],
      ['values', '--completion', completion.id],
      ['reason', '--seq', String(verdict.seq)],
    ]
    for (const document of verdict.reason === null ? documents.slice(0, 3) : documents) {
      const args = ['erase', id, ...document, '--code', 'gdpr_17']
      const written = await app.written()
      const careful = await runCommand(args)
      assert.equal(careful.code, 64)
      assert.match(careful.stderr, /can't be undone: add --yes/)
      assert.deepEqual(await app.written(), written)
      const erased = await answer([...args, '--reason', 'asked for', '--yes'])
      assert.deepEqual([erased.erasure.document, erased.erasure.reason], [document[0], 'asked for'])
    }
    assert.equal((await answer(['get', id])).payload, null)
    for (const [args, pattern] of [
      [['evidence'], /needs --completion/],
      [['reason'], /needs --seq/],
      [['payload', '--seq', '3'], /--seq cannot be used with payload/],
      [['all'], /is one of: payload, evidence, values, reason/],
    ] as [string[], RegExp][]) {
      const refused = await runCommand(['erase', id, ...args, '--code', 'x', '--yes'])
      assert.equal(refused.code, 64)
      assert.match(refused.stderr, pattern)
    }
  })

  await t.test(
    'steps with invalid arguments exit with 64; a step of another party names that party',
    async () => {
      const { id } = await create()
      const usages = [
        ['activate'],
        ['activate', id, 'more'],
        ['activate', id, '--if-version', '0'],
        ['verdict', id],
        ['verdict', id, 'maybe'],
        ['revise', id],
        ['cancel', id],
        ['overturn', id],
        ['get', id, '--wait', 'DONE'],
        ['get', id, '--timeout', 'soon'],
        ['create', '--gate', 'nobody', '--payload', '{}'],
        ['create', 'a.json', 'b.json'],
      ]
      for (const args of usages) assert.equal((await runCommand(args)).code, 64, args.join(' '))
      const foreign = await runCommand(['activate', id])
      assert.deepEqual([foreign.code, /403 not_entitled/.test(foreign.stderr)], [77, true])
      // A member that the advice names is in the message, because the command prints nothing else of the problem.
      assert.match(foreign.stderr, /`role` .* \(role: performer\) \[request /)
      const early = await runCommand(['verdict', id, 'accept', '--json'])
      assert.match(
        early.stderr,
        /`nextEvents` .* \(nextEvents: record-activated, record-cancelled\) \[request /,
      )
      assert.equal((await runCommand(['get', 'rec_01kd2m3n4p5q6r7s8t9v0w1x2y'])).code, 1)
      assert.equal((await runCommand(['complete', id, ...asPerformer], { input: '[]' })).code, 65)
    },
  )

  await t.test('list prints a table of fifty records on a terminal, and all records to a pipe', async () => {
    const batch = Array.from({ length: 205 }, (_, n) => ({
      type: 'generic/1',
      payload: { n, text: 'x'.repeat(90) },
    }))
    await app.send('POST', '/v1/records/batch', { body: { records: batch } })
    const piped = await runCommand(['list', '--type', 'generic/1'])
    assert.equal(parseLines(piped.stdout).length, 205)
    const table = await runCommand(['list'], { isTTY: true })
    assert.equal(table.stdout.trimEnd().split('\n').length, 51)
    assert.match(table.stdout, /^ID +TYPE +STATE +RECORDED +ACTOR +PAYLOAD\n/)
    assert.equal(table.stderr, 'tallystick: there are more; --limit N shows the first N\n')
    const limited = await runCommand(['list', '--limit', '201', '--order', 'asc'])
    assert.deepEqual([parseLines(limited.stdout).length, limited.stderr], [201, ''])
    const gated = parseLines((await runCommand(['list', '--state', 'ACCEPTED'])).stdout)
    assert.deepEqual(
      gated.map(({ state }) => state),
      ['ACCEPTED'],
    )
    for (const args of [['--state', 'DONE'], ['--order', 'up'], ['--limit', '0'], ['rec_x']])
      assert.equal((await runCommand(['list', ...args])).code, 64, args.join(' '))
  })

  await t.test('a full disk is reported with exit code 74; a closed stderr loses no results', async () => {
    const shell = (command: string) =>
      spawn('bash', ['--norc', '-c', command, 'bash', process.execPath, CLI], {
        env: { ...bareEnvironment(), ...env },
      })
    const full = shell('"$1" "$2" list > /dev/full; echo $?')
    const [code, said] = await Promise.all(
      [full.stdout, full.stderr].map(async (stream) => (await stream.toArray()).join('')),
    )
    assert.deepEqual([code, said], ['74\n', 'tallystick: the output cannot be written (ENOSPC)\n'])
    const deaf = shell(
      `printf '{}\\n{}\\n' | "$1" "$2" notarize --ndjson --ids 2> >(exec 0<&-; sleep 0.1); echo $?`,
    )
    const lines = (await deaf.stdout.toArray()).join('').trimEnd().split('\n')
    assert.deepEqual([lines.length, lines[2]], [3, '0'])
  })

  await t.test('list ends silently with 74 when its reader closes the pipe', async () => {
    const command = `"${process.execPath}" "${CLI}" list | head -n 1; echo "\${PIPESTATUS[0]}"`
    const child = spawn('bash', ['--norc', '-c', command], { env: { ...bareEnvironment(), ...env } })
    const [out, err] = await Promise.all(
      [child.stdout, child.stderr].map(async (stream) => (await stream.toArray()).join('')),
    )
    assert.equal(err, '')
    assert.deepEqual(out!.trimEnd().split('\n').slice(1), ['74'])
  })

  await t.test(
    'tail --entries shows the last entries, then each new one, and ends with 0 when it is interrupted',
    async () => {
      const child = endsWithTests(
        spawn(process.execPath, [CLI, 'tail', '--entries', '-n', '2'], {
          env: { ...bareEnvironment(), ...env },
        }),
      )
      let out = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        out += text
      })
      const shown = () => parseLines(out.slice(0, out.lastIndexOf('\n') + 1))
      await until(() => shown().length === 2)
      const { id } = await create()
      await until(() => shown().length === 3)
      child.kill('SIGINT')
      assert.deepEqual(await once(child, 'close'), [0, null])
      const { seq, kind, subjects, actor } = shown()[2]
      assert.deepEqual([kind, subjects, actor], ['record-created', [id], app.ledger.agent.id])
      assert.deepEqual(
        shown().map((entry) => entry.seq),
        [seq - 2, seq - 1, seq],
      )
      const denied = await runCommand(['tail', '--entries', '--after', '0', ...asPerformer])
      assert.equal(denied.code, 77)
      assert.match(denied.stderr, /audit:read/)
      assert.equal((await runCommand(['tail', '--entries', '-n', '2', '--after', '3'])).code, 64)
    },
  )
})

test('tail --entries reports an unavailable server once, and waits for it', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt === 1) response.writeHead(200, { 'content-type': 'application/json' }).end('{"size":3}')
    else if (attempt < 4) sendProblem(response, 503, 'unavailable', { headers: { 'retry-after': '61' } })
    else sendProblem(response, 401, 'unauthenticated')
  })
  const { code, stderr } = await runCommand([
    'tail',
    '--entries',
    '--server',
    server.baseUrl,
    '--api-key',
    'tly_x',
  ])
  assert.equal(code, 77)
  assert.deepEqual(stderr.match(/(?<=^tallystick: )\d{3}/gm), ['503', '401'])
  assert.equal(server.requests.at(-1)!.url, '/v1/entries')
})

test('every filter of the route is an option of list', async (t) => {
  const asked: URLSearchParams[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://x').searchParams)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"nextCursor":null}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const chosen: Record<string, string> = { state: 'ACTIVE', order: 'asc', limit: '7' }
  const names = Object.keys(recordListQuery.shape).filter((name) => name !== 'cursor')
  for (const name of names) {
    const option = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const value = chosen[name] ?? `a ${name} & more`
    const { code } = await runCommand(['list', '--server', url, '--api-key', 'tly_x', `--${option}`, value])
    assert.equal(code, 0, name)
    const found = Object.fromEntries(asked.at(-1)!)
    assert.deepEqual(found, { limit: '200', [name]: value })
  }
  assert.equal(asked.length, names.length)
})
