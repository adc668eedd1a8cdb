import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limited } from '../../cli/limited.ts'
import { BUILT_IN_TYPES } from '../../src/ledgers/types/built-in.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { startWorker } from '../../src/run/worker.ts'
import { genericBody, testConfig } from '../helpers/app.ts'
import { capture } from '../helpers/capture.ts'
import { buildCliApp } from '../helpers/cli-app.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { runCommand } from '../helpers/run-command.ts'

/**
 * Returns a command's output, one JSON value per line. Asserts that the command succeeds and writes exactly `said` to
 * standard error.
 */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
async function linesOf(args: string[], said = ''): Promise<any[]> {
  const { code, stdout, stderr } = await runCommand(args)
  assert.deepEqual([code, stderr], [0, said], args.join(' '))
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

async function fails(args: string[], code: number, pattern: RegExp): Promise<void> {
  const failed = await runCommand(args)
  assert.deepEqual([failed.code, failed.stdout], [code, ''], failed.stderr)
  assert.match(failed.stderr, pattern)
}

const ORDER = {
  name: 'order',
  version: 1,
  payloadSchema: {
    type: 'object',
    properties: { sku: { type: 'string' }, quantity: { type: 'integer', minimum: 1 } },
    required: ['sku'],
  },
  evidenceSchema: { type: 'object', properties: { quantity: { type: 'integer' } } },
  rules: [{ id: 'quantity', op: 'equals', expected: '/quantity', actual: '/quantity' }],
}

const ONCE = 'tallystick: the secret is only shown once: store it now\n'

test('administration commands with a running server and worker', async (t) => {
  const app = await buildCliApp(t)
  const worker = await startWorker(
    { ...testConfig(app.database.apiUrl), workerUrl: app.database.workerUrl, dataDir: temporaryDir() },
    new Metrics(),
  )
  t.after(() => worker.close())

  await t.test('types are listed, registered and previewed', async () => {
    const file = app.files.write('order.json', JSON.stringify(ORDER))
    const documents = ['--payload', '{"sku":"A","quantity":2}', '--evidence', '{"quantity":2}']
    const [unregistered] = await linesOf(['types', 'preview', file, ...documents])
    assert.deepEqual([unregistered.valid, unregistered.outcome], [true, 'pass'])
    await fails(['types', 'preview', 'order/1', ...documents], 1, /404 not_found/)

    const [registered] = await linesOf(['types', 'register', file])
    assert.deepEqual([registered.type, registered.gated], ['order/1', true])
    assert.deepEqual(await linesOf(['types', 'register', file]), [registered])
    assert.deepEqual(await linesOf(['types', 'get', 'order/1']), [registered])
    const other = app.files.write('other.json', JSON.stringify({ ...ORDER, rules: [] }))
    await fails(['types', 'register', other], 1, /409 type_exists/)
    await fails(['types', 'register', app.files.write('half.json', '{')], 65, /half\.json/)

    const refused = await runCommand(['types', 'preview', 'order/1', '--payload', '{"quantity":0}'])
    assert.equal(refused.code, 1)
    assert.equal(JSON.parse(refused.stdout).valid, false)
    const evidence = app.files.write('evidence.json', '{"quantity":3}')
    const failed = await runCommand([
      'types',
      'preview',
      'order/1',
      ...documents.slice(0, 2),
      '--evidence',
      evidence,
    ])
    assert.deepEqual([failed.code, JSON.parse(failed.stdout).outcome], [1, 'fail'])
    const input = '{"sku":"A"}'
    assert.equal((await runCommand(['types', 'preview', 'order/1', '--payload', '-'], { input })).code, 0)
    await fails(['types', 'preview', '-', '--payload', '-'], 64, /only one of --payload and --evidence/)

    const names = (await linesOf(['types', 'list'])).map(({ type }) => type)
    assert.deepEqual(names, ['order/1', ...BUILT_IN_TYPES.keys()].sort())
    assert.equal((await linesOf(['types', 'list', '--name', 'order'])).length, 1)
  })

  await t.test('agents are registered, found by id and name, and disabled only with --yes', async () => {
    const [agent] = await linesOf(['agents', 'register', 'buyer'])
    assert.deepEqual(await linesOf(['agents', 'get', 'buyer']), [agent])
    assert.deepEqual(await linesOf(['agents', 'get', agent.id]), [agent])
    await fails(['agents', 'register', 'buyer'], 1, /409 name_taken/)
    await fails(['agents', 'get', 'nobody'], 1, /no agent named "nobody"/)
    await fails(['agents', 'disable', 'buyer'], 64, /can't be undone: add --yes/)
    const [disabled] = await linesOf(['agents', 'disable', 'buyer', '--yes'])
    assert.ok(disabled.disabledAt)
    const all = await linesOf(['agents', 'list'])
    assert.deepEqual(all.map(({ name }) => name).toSorted(), ['buyer', 'tester'])
    assert.deepEqual(await linesOf(['agents', 'list', '--limit', '1']), all.slice(0, 1))
    const table = await runCommand(['agents', 'list'], { isTTY: true })
    assert.match(
      table.stdout,
      /^ID +NAME +REGISTERED +DISABLED\nagt_\w+ +tester +2\S+Z\nagt_\w+ +buyer +2\S+Z +2\S+Z\n$/,
    )
  })

  await t.test(
    'a key is made, works, is rotated, limited and revoked; its secret is shown whole, and once',
    async () => {
      const create = ['keys', 'create', 'courier', '--scopes', 'records:write,records:read:own']
      const [made] = await linesOf(create, ONCE)
      assert.deepEqual(made.scopes, ['records:read:own', 'records:write'])
      const notarize = (key: string) => runCommand(['notarize', '--payload', '{}', '--api-key', key])
      assert.equal((await notarize(made.key)).code, 0)

      const rotated = await runCommand(['keys', 'rotate', made.id, '--overlap', '0', '--env'])
      assert.equal(rotated.stderr, ONCE)
      const [url, secret] = rotated.stdout.split('\n') as [string, string]
      assert.equal(url, `TALLYSTICK_URL=${app.url}`)
      assert.equal((await notarize(secret.replace('TALLYSTICK_API_KEY=', ''))).code, 0)

      const shown = await runCommand(
        [...create, '--agent', 'courier', '--expires-at', '2999-01-01T00:00:00Z'],
        {
          isTTY: true,
        },
      )
      assert.match(shown.stdout, /^key +tly_\w{40,}$/m)
      assert.match(shown.stdout, /^expiresAt +2999-01-01T00:00:00.000Z$/m)

      const limits = ['keys', 'limit', made.id, '--per-second', '0.5', '--burst', '7']
      const limit = { requestsPerSecond: 0.5, burst: 7 }
      assert.deepEqual(await linesOf(limits), [{ rateLimit: limit }])
      assert.deepEqual((await linesOf(['keys', 'get', made.id]))[0].rateLimit, limit)
      assert.deepEqual(await linesOf(['keys', 'limit', made.id, '--none']), [{ rateLimit: null }])
      await fails(
        ['keys', 'limit', made.id, '--per-second', '1'],
        64,
        /both --per-second N and --burst N, or only --none/,
      )
      await fails([...limits, '--none'], 64, /or only --none/)

      const otlp = ['keys', 'otlp', made.id]
      const taken = { take: 'agents', content: 'keep', rest: 'reject' }
      assert.deepEqual(await linesOf([...otlp, '--content', 'keep']), [{ otlp: taken }])
      assert.deepEqual(await linesOf([...otlp, '--default']), [{ otlp: null }])
      await fails([...otlp, '--take', 'some'], 64, /--take takes agents or all/)
      for (const none of [otlp, [...otlp, '--default', '--rest', 'drop']])
        await fails(none, 64, /or only --default/)

      await fails(['keys', 'revoke', made.id], 64, /can't be undone: add --yes/)
      const [revoked] = await linesOf(['keys', 'revoke', made.id, '--yes'])
      const [first, ...others] = await linesOf(['keys', 'list', '--agent', 'courier'])
      assert.deepEqual([first, others.length], [revoked, 1])
      assert.ok(!JSON.stringify(first).includes('tly_'))

      const manage = ['keys', 'create', 'manager', '--scopes', 'keys:manage']
      const [maker] = await linesOf(manage, ONCE)
      const [madeBy] = await linesOf([...manage, '--api-key', maker.key], ONCE)
      assert.equal(madeBy.madeBy, maker.id)
      const [both] = await linesOf(['keys', 'revoke', maker.id, '--also-made', '--yes'])
      assert.deepEqual(both.alsoRevoked, [madeBy.id])
      await fails(['keys', 'create', 'x'], 64, /usage: tallystick keys create NAME --scopes/)
      await fails(['keys', 'create', 'x', '--scopes', 'everything'], 1, /422 invalid_request.*\/scopes\/0/)
      await fails([...create, '--agent', 'nobody'], 1, /no agent named "nobody"/)
    },
  )

  await t.test('entries prints any range as the chain has it', async () => {
    const entries = await linesOf(['entries'])
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      entries.map((_, i) => i),
    )
    assert.deepEqual(await linesOf(['entries', '--after', '0', '--limit', '2']), entries.slice(1, 3))
    await fails(['entries', '--after', '-1'], 64, /ambiguous|--after/)
  })

  await t.test('control characters of a record’s payload are escaped on a terminal', async () => {
    const { entry } = await app.notarize({ type: 'generic/1', payload: { text: '\u009b31m\u202e' } })
    const args = ['entries', '--after', String(entry.seq - 1)]
    const { stdout } = await runCommand(args, { isTTY: true })
    assert.match(stdout, /\\u009b31m\\u202e/)
    assert.deepEqual([JSON.parse(stdout)], await linesOf(args))
  })

  await t.test('a proof is downloaded once a checkpoint covers its entry, and verifies offline', async () => {
    const record = await app.notarize(genericBody())
    const out = join(app.files.directory, 'proof.json')
    assert.deepEqual(await linesOf(['proof', record.id, '-o', out]), [])
    const kept = app.files.write('record.json', JSON.stringify(record))
    const proved = await runCommand(['verify', '--proof', out, '--record', kept])
    assert.equal(proved.code, 0, proved.stderr)
    assert.match(proved.stdout, new RegExp(`^PROOF_OK .*entry=${record.entry.seq} .*record=same`))
    const { treeSize } = JSON.parse(readFileSync(out, 'utf8'))
    const same = await linesOf([
      'proof',
      record.id,
      '--seq',
      String(record.entry.seq),
      '--size',
      String(treeSize),
    ])
    assert.deepEqual(same, [JSON.parse(readFileSync(out, 'utf8'))])
    assert.deepEqual(await linesOf(['proof', String(record.entry.seq), '--size', String(treeSize)]), same)
    const [newest] = await linesOf(['checkpoints', 'list', '--limit', '1'])
    assert.ok(newest.size >= treeSize)
    await fails(['proof', '1', '--seq', '1'], 64, /--seq can only be used with RECORD/)
    await fails(['proof', '1.5'], 1, /404 not_found/)
  })

  await t.test(
    'audit starts an audit, waits for it, and exits with 1 if the ledger was tampered with',
    async () => {
      const [asked] = await linesOf(['audit', '--no-wait'])
      const sound = await runCommand(['audit'])
      const report = JSON.parse(sound.stdout)
      assert.deepEqual([sound.code, report.state, report.ok], [0, 'done', true], sound.stdout)
      assert.match(sound.stderr, /^tallystick: aud_\w+ continues if you end this command/)
      assert.equal((await linesOf(['audits', 'get', asked.id]))[0].ok, true)

      await app.sql('alter table tallystick.records disable trigger all')
      await app.sql(`update tallystick.records set payload = '{"forged":true}' where payload = '{}'`)
      const bad = await runCommand(['audit'], { isTTY: true })
      assert.equal(bad.code, 1, bad.stdout + bad.stderr)
      assert.match(bad.stdout, /^ok +false$/m)
      const listed = await runCommand(['audits', 'list'], { isTTY: true })
      assert.match(listed.stdout, /^aud_\w+ +\S+ +agt_\w+ +done +\d+ +document_digest$/m)
    },
  )
})

test('a terminal shows the first 50 items of a list and reports that there are more', async () => {
  async function* items() {
    for (let i = 0; i < 51; i++) yield i
  }
  const shown = async (isTTY: boolean, values: { limit?: string; json?: boolean }) => {
    const io = { stdin: process.stdin, stdout: capture(isTTY), stderr: capture() }
    const given = await Array.fromAsync(limited(items(), values, io))
    return [given.length, io.stderr.text()]
  }
  assert.deepEqual(await shown(true, {}), [50, 'tallystick: there are more; --limit N shows the first N\n'])
  for (const [isTTY, values, count] of [
    [true, { limit: '51' }, 51],
    [true, { limit: '7' }, 7],
    [true, { json: true }, 51],
    [false, {}, 51],
  ] as const)
    assert.deepEqual(await shown(isTTY, values), [count, ''])
})
