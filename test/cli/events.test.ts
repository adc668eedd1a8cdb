import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { main } from '../../cli/main.ts'
import { EVENT_TYPES } from '../../src/outside/events/event-types.ts'
import { startServer } from '../../src/run/server.ts'
import { genericBody, parseLines, testConfig } from '../helpers/app.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { capture } from '../helpers/capture.ts'
import { endsWithTests } from '../helpers/children.ts'
import { listen } from '../helpers/cli-app.ts'
import { allEvents, buildEventLedger } from '../helpers/event-ledger.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runCommand } from '../helpers/run-command.ts'
import { until } from '../helpers/wait.ts'
import { sendProblem, startHostile } from '../sdk/hostile-server.ts'

function startTail(t: TestContext, args: readonly string[], env: Record<string, string>) {
  const child = endsWithTests(
    spawn(process.execPath, [CLI, 'tail', ...args], { env: { ...bareEnvironment(), ...env } }),
  )
  t.after(() => void child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  return { child, shown: () => parseLines(out.slice(0, out.lastIndexOf('\n') + 1)), stderr: () => err }
}

test('events and tail of one ledger', async (t) => {
  const app = await buildEventLedger(t)
  const { env } = await listen(t, app)
  const events = await allEvents(app)

  await t.test('events prints all events, whole, and the cursor to continue with', async () => {
    const { code, stdout, stderr } = await runCommand(['events'])
    assert.deepEqual([code, parseLines(stdout)], [0, events])
    const [, cursor] = /^tallystick: continue with --after ([\w-]+)\n$/.exec(stderr)!
    const rest = await runCommand(['events', '--after', cursor!])
    assert.deepEqual([rest.code, rest.stdout, rest.stderr], [0, '', stderr])
    const three = await runCommand([
      'events',
      '--limit',
      '3',
      '--types',
      'delivery',
      '--events',
      'signal.emitted',
    ])
    assert.deepEqual(
      parseLines(three.stdout).map(({ data }) => data.signal.decision),
      ['SETTLE', 'HOLD', 'RELEASE'],
    )
  })

  await t.test('events is a table on a terminal', async () => {
    const { stdout } = await runCommand(['events'], { isTTY: true })
    const lines = stdout.trimEnd().split('\n')
    assert.equal(lines.length, events.length + 1)
    assert.match(lines[0]!, /^TIME +EVENT +WHAT$/)
    for (const [event, what] of [
      ['record.recorded', /rec_\w+ generic\/1 RECORDED$/],
      ['batch.recorded', /bat_\w+ 2 records$/],
      ['signal.emitted', /rec_\w+ delivery\/1 SETTLE$/],
      ['payload.erased', /rec_\w+ generic\/1$/],
      ['checkpoint.published', /\d+ entries$/],
    ] as const)
      assert.match(lines.find((line) => line.includes(event))!, what)
  })

  await t.test('events and tail refuse unknown events, cursors and arguments', async () => {
    for (const command of ['events', 'tail']) {
      const { code, stderr } = await runCommand([command, '--events', 'record.lost'])
      assert.equal(code, 1, stderr)
      assert.ok(stderr.includes(`record.lost is not an event; the events are ${EVENT_TYPES[0]}, `), stderr)
      assert.equal((await runCommand([command, '--after', 'garbage'])).code, 1)
    }
    for (const args of [
      ['-n', '2'],
      ['--after', 'x', '--from-beginning'],
      ['--entries', '--types', 'a'],
      ['x'],
    ])
      assert.equal((await runCommand(['tail', ...args])).code, 64, args.join(' '))
  })

  await t.test('tail prints new events, and the next tail continues from the last cursor', async (t) => {
    const first = startTail(t, [], env)
    // `tail` prints nothing before the first event, so the test adds records until `tail` prints an event.
    const ids = new Set<string>()
    await until(async () => {
      ids.add((await app.notarize(genericBody({ n: ids.size }))).id)
      return first.shown().length > 0
    })
    first.child.kill('SIGINT')
    assert.deepEqual(await once(first.child, 'close'), [0, null])
    const last = first.shown().at(-1)
    assert.equal(last.type, 'record.recorded')
    const { id } = await app.notarize(genericBody({ later: true }))
    const second = startTail(t, ['--after', last.cursor, '--types', 'generic/1'], env)
    await until(() => second.shown().some(({ data }) => data.record.id === id))
    const told = [...first.shown(), ...second.shown()].map(({ data }) => data.record.id)
    const made = [...ids, id]
    assert.deepEqual(told, made.slice(made.indexOf(told[0])), 'each once, in order')
    second.child.kill('SIGTERM')
    assert.deepEqual(await once(second.child, 'close'), [0, null])
    assert.equal(first.stderr() + second.stderr(), '')
  })

  await t.test('tail --from-beginning prints all events, one line each on a terminal', async () => {
    const [stdout, stderr] = [capture(true), capture(true)]
    const filter = ['--events', 'verdict.rendered,checkpoint.published']
    const args = ['tail', '--from-beginning', ...filter]
    const running = main(args, { stdin: process.stdin, stdout, stderr })
    const wanted = events.filter(({ type }) => filter[1]!.split(',').includes(type))
    await until(() => stdout.text().split('\n').length > wanted.length)
    process.emit('SIGINT')
    assert.equal(await running, 0)
    const lines = stdout.text().trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => line.split(/ {2,}/).slice(0, 2)),
      wanted.map(({ timestamp, type }) => [timestamp, type]),
    )
    assert.match(lines[1]!, /rec_\w+ delivery\/1 ACCEPTED$/)
  })

  await t.test('tail goes on over a restart of the server', async (t) => {
    const server = await startServer(testConfig(app.database.apiUrl))
    const { port } = new URL(server.url)
    const tail = startTail(t, [], { ...env, TALLYSTICK_URL: server.url })
    await until(async () => {
      await app.notarize(genericBody({ before: true }))
      return tail.shown().length > 0
    })
    await server.close()
    const { id } = await app.notarize(genericBody({ meanwhile: true }))
    const again = await startServer(testConfig(app.database.apiUrl, { TALLYSTICK_PORT: port }))
    await until(() => tail.shown().some(({ data }) => data.record.id === id))
    const told = tail.shown().map((event) => event.id)
    assert.equal(new Set(told).size, told.length)
    tail.child.kill('SIGINT')
    assert.deepEqual(await once(tail.child, 'close'), [0, null])
    await again.close()
  })

  // An interrupted tail leaves an idle connection. Node would wait a minute for the connection to close.
  app.app.server.closeAllConnections()
})

test('tail reports an unavailable server once, waits, and continues from its cursor', async (t) => {
  const server = await startHostile(t, (response, attempt) => {
    if (attempt === 1)
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"data":[],"nextCursor":"abc","more":false}')
    else if (attempt < 4) sendProblem(response, 503, 'unavailable', { headers: { 'retry-after': '61' } })
    else sendProblem(response, 401, 'unauthenticated')
  })
  const { code, stderr } = await runCommand(['tail', '--server', server.baseUrl, '--api-key', 'tly_x'])
  assert.equal(code, 77)
  assert.deepEqual(stderr.match(/(?<=^tallystick: )\d{3}/gm), ['503', '401'])
  assert.deepEqual(
    server.requests.map(({ url }) => url),
    ['/v1/events?from=end&limit=1', ...Array(3).fill('/v1/events?cursor=abc')],
  )
})
