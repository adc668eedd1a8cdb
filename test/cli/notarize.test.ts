import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { batchLines } from '../../cli/batch-lines.ts'
import { main } from '../../cli/main.ts'
import { RECORD_OPTIONS } from '../../cli/record-options.ts'
import { BATCH_BODY_BYTES_MAX, RECORD_BODY_BYTES_MAX } from '../../src/records/limits.ts'
import { parseLines, type TestApp } from '../helpers/app.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { listStoredRecords } from '../helpers/batch-records.ts'
import { capture } from '../helpers/capture.ts'
import { endsWithTests } from '../helpers/children.ts'
import { sharedCliApp } from '../helpers/cli-app.ts'
import { samplesOfItem } from '../helpers/every-member.ts'
import { startPickyProxy } from '../helpers/picky-proxy.ts'
import { CLI } from '../helpers/run-cli.ts'
import { runCommand } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const lines = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => `{"n":${from + i}}\n`).join('')

async function payloads(app: TestApp): Promise<{ n?: number }[]> {
  return (await listStoredRecords(app)).map(({ payload }) => payload)
}

test('notarize', async (t) => {
  const app = await sharedCliApp(t)

  await t.test(
    'a document from an option, a file or standard input is recorded with all options',
    async () => {
      const file = app.files.write('call.json', '{"from":"file"}')
      const members = ['--reference', 'order:1', '--reference', 'urn:x', '--metadata', '{"run":7}']
      const made = await runCommand([
        ...['notarize', '--payload', '{"from":"option"}', ...members],
        ...['--occurred-at', '2026-11-22T05:00:00Z', '--idempotency-key', 'one'],
      ])
      assert.deepEqual([made.code, made.stderr], [0, ''])
      const record = JSON.parse(made.stdout)
      assert.deepEqual(
        [record.payload, record.references, record.metadata, record.occurredAt, record.type],
        [{ from: 'option' }, ['order:1', 'urn:x'], { run: 7 }, '2026-11-22T05:00:00.000Z', 'generic/1'],
      )
      const both = await runCommand(
        ['notarize', file, '-', '--parent', record.id, '--ids', '--idempotency-key', 'two'],
        {
          input: '{"from":"stdin"}',
        },
      )
      const ids = both.stdout.trimEnd().split('\n')
      assert.equal(ids.length, 2)
      for (const [i, from] of ['file', 'stdin'].entries()) {
        const shown = JSON.parse((await runCommand(['get', ids[i]!])).stdout)
        assert.deepEqual([shown.payload, shown.parent], [{ from }, record.id])
      }
      // The idempotency keys come from the caller, so a repetition writes nothing.
      const written = await app.written()
      const again = await runCommand(
        ['notarize', file, '-', '--parent', record.id, '--ids', '--idempotency-key', 'two'],
        {
          input: '{"from":"stdin"}',
        },
      )
      assert.deepEqual(again, both)
      assert.deepEqual(await app.written(), written)
    },
  )

  await t.test(
    'input that is not a JSON object, or would change in parsing, is refused before sending',
    async () => {
      const written = await app.written()
      const texts: [string, RegExp][] = [
        ['', /standard input: json_syntax/],
        ['[1]', /standard input is not a JSON object/],
        ['{"a":1,"a":2}', /"a" occurs twice/],
        ['{"id":12345678901234567891}', /12345678901234567891 at character \d+ would change/],
        ['{"a":"\\ud800"}', /surrogate/],
        [`{"a":"${'x'.repeat(BATCH_BODY_BYTES_MAX)}"}`, /more than 4194304 bytes/],
      ]
      for (const [input, pattern] of texts) {
        const refused = await runCommand(['notarize'], { input })
        assert.deepEqual([refused.code, refused.stdout], [65, ''], input.slice(0, 50))
        assert.match(refused.stderr, pattern)
      }
      const latin1 = app.files.write('latin1.json', Buffer.from('{"a":"\xe9"}', 'latin1'))
      assert.match((await runCommand(['notarize', latin1])).stderr, /latin1.json is not UTF-8/)
      assert.equal((await runCommand(['notarize', `${latin1}.gone`])).code, 74)
      const usages: [string[], RegExp][] = [
        [['--payload', '{}', latin1], /files or --payload, not both/],
        [['-', '-'], /can only be read once/],
        [['--batch', '7'], /--batch can only be used with --ndjson/],
        [['--payload', '{}', '--type', 'generic'], /--type takes NAME\/VERSION, such as generic\/1/],
        [['--items'], /--items can only be used with --ndjson/],
        [['--ndjson', '--payload', '{}'], /--payload cannot be used with --ndjson/],
        [['--ndjson', '--batch', '2001'], /--batch takes a whole number, from 1 to 2000/],
        [['--ndjson', '--batch', '0'], /from 1 to 2000/],
      ]
      for (const [args, pattern] of usages) {
        const refused = await runCommand(['notarize', ...args])
        assert.equal(refused.code, 64, args.join(' '))
        assert.match(refused.stderr, pattern)
      }
      assert.deepEqual(await app.written(), written)
    },
  )

  await t.test('--items refuses every option that describes a record', async () => {
    const written = await app.written()
    for (const option of Object.keys(RECORD_OPTIONS).filter((name) => name !== 'idempotency-key')) {
      const args = ['notarize', '--ndjson', '--items', `--${option}`, option === 'type' ? 'a/1' : '{}']
      const refused = await runCommand(args, { input: '{"type":"generic/1","payload":{}}' })
      assert.equal(refused.code, 64, option)
      assert.match(refused.stderr, new RegExp(`--${option} cannot be used with`))
    }
    assert.deepEqual(await app.written(), written)
  })

  await t.test(
    'the help names every member of an item, and each has an option, except traces and signatures',
    async () => {
      const { stdout } = await runCommand(['notarize', '--help'])
      const [, shown] = /whole items instead: \{([^}]*)\}/.exec(stdout)!
      const names = Array.from(shown!.matchAll(/"(\w+)"/g), ([, name]) => name!)
      const members = Object.keys(samplesOfItem({ agents: ['', ''], records: ['', ''] }))
      assert.deepEqual(names.sort(), members.filter((name) => name !== 'salt').sort())
      const options = Object.keys(RECORD_OPTIONS).map((name) =>
        name.replaceAll(/-(\w)/g, (_all, letter: string) => letter.toUpperCase()),
      )
      // `--reference` is used once for each reference. No option sets a traceparent.
      assert.deepEqual(
        names.filter((name) => !options.includes(name.replace(/^references$/, 'reference'))),
        ['traceparent'],
      )
    },
  )

  async function originsOf(ids: string): Promise<[string | null, string[] | null][]> {
    const read = ids
      .trim()
      .split('\n')
      .map((id) => runCommand(['get', id]))
    return (await Promise.all(read)).map(({ stdout }) => {
      const { parent, references } = JSON.parse(stdout)
      return [parent, references]
    })
  }

  await t.test('lines are recorded in batches, in order, with the options applied to each', async () => {
    const input = `${lines(3)}\n \r\n{"n":4}\r\n{"n":5}`
    const { code, stdout, stderr } = await runCommand(
      [
        'notarize',
        '--ndjson',
        '--batch',
        '2',
        '--metadata',
        '{"run":8}',
        '--occurred-at',
        '2026-11-22T05:00:00Z',
      ],
      { input },
    )
    assert.deepEqual([code, stderr], [0, 'tallystick: 5 records in 3 batches\n'])
    const batches = parseLines(stdout)
    assert.deepEqual(
      batches.map(({ records, lines }) => [records, lines]),
      [
        [2, [1, 2]],
        [2, [3, 6]],
        [1, [7, 7]],
      ],
    )
    const own = (await app.entries(`?after=${batches[0].seq - 1}`)).slice(0, 3)
    assert.deepEqual(
      own.flatMap(({ documents }) => documents.map(({ document }: { document: object }) => document)),
      [1, 2, 3, 4, 5].map((n) => ({ n })),
    )
    assert.ok(own.every(({ items }) => items.every((item: { occurredAt: string }) => item.occurredAt)))

    const items = `{"type":"generic/1","payload":{"whole":1},"occurredAt":"2026-11-22T06:00:00Z"}\n`
    const ids = await runCommand(['notarize', '--ndjson', '--items', '--ids'], { input: items })
    const record = JSON.parse((await runCommand(['get', ids.stdout.trim()])).stdout)
    assert.deepEqual([record.payload, record.occurredAt], [{ whole: 1 }, '2026-11-22T06:00:00.000Z'])

    const parent = record.id as string
    const tree = ['{}', '{"parent":0,"references":["a:1"]}', `{"parent":"${parent}"}`]
      .map((members) => JSON.stringify({ type: 'generic/1', payload: {}, ...JSON.parse(members) }))
      .join('\n')
    const made = await runCommand(['notarize', '--ndjson', '--items', '--ids'], { input: tree })
    assert.deepEqual(await originsOf(made.stdout), [
      [null, null],
      [made.stdout.split('\n')[0], ['a:1']],
      [parent, null],
    ])
    const given = ['--ndjson', '--ids', '--parent', parent, '--reference', 'a:1', '--reference', 'b:2']
    const below = await runCommand(['notarize', ...given], { input: lines(2) })
    assert.deepEqual(await originsOf(below.stdout), Array(2).fill([parent, ['a:1', 'b:2']]))
  })

  await t.test(
    'reports which line is refused, here or by the server, and how many were recorded before',
    async () => {
      const bad: [string, number, RegExp][] = [
        [
          `${lines(3)}{"n":\n`,
          65,
          /^tallystick: 2 records are written, in 1 batches.*\n.*line 4 of standard input: json_syntax/,
        ],
        [`${lines(3)}7\n`, 65, /line 4 of standard input is not a JSON object/],
        [
          `${lines(2)}{"n":"${'x'.repeat(RECORD_BODY_BYTES_MAX + 70_000)}"}`,
          65,
          /line 3 of standard input has more than/,
        ],
        [
          `${lines(3)}\n{"n":"${'x'.repeat(70_000)}"}\n`,
          1,
          /line 5 of standard input is refused\n.*\n.*document_too_large/,
        ],
      ]
      for (const [input, exit, pattern] of bad) {
        const { code, stderr } = await runCommand(['notarize', '--ndjson', '--batch', '2'], { input })
        assert.equal(code, exit)
        assert.match(stderr, pattern)
      }
    },
  )

  await t.test(
    'killed midway and rerun with its idempotency key, each line is recorded exactly once',
    async () => {
      const file = app.files.write('calls.ndjson', lines(400, 1_000_000))
      const args = ['notarize', '--ndjson', '--batch', '20', '--idempotency-key', 'import-1', file]
      const child = endsWithTests(
        spawn(process.execPath, [CLI, ...args], {
          env: { ...bareEnvironment(), ...app.env },
          stdio: ['ignore', 'pipe', 'inherit'],
        }),
      )
      const written = async () => (await payloads(app)).filter((payload) => payload.n! >= 1_000_000)
      let batches = 0
      for await (const piece of child.stdout!) {
        batches += String(piece).split('\n').length - 1
        if (batches >= 3) break
      }
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
      const before = (await written()).length
      assert.ok(before >= 60 && before < 400, `${before} were written when it was killed`)

      const again = await runCommand(args)
      assert.equal(again.code, 0)
      assert.equal(parseLines(again.stdout).length, 20)
      const found = (await written()).map((payload) => payload.n!).sort()
      assert.deepEqual(
        found,
        Array.from({ length: 400 }, (_, i) => 1_000_000 + i),
      )

      const other = await runCommand([...args, '--batch', '40'])
      assert.equal(other.code, 1)
      assert.match(other.stderr, /nothing is written.*\n.*idempotency_key_reused/)
    },
  )

  await t.test('reads no more than about a batch ahead, and shows progress on a terminal', async () => {
    const before = (await payloads(app)).length
    const stderr = capture(true)
    let ahead = 0
    async function* input() {
      for (let i = 0; i < 60; i++) {
        ahead = Math.max(ahead, i * 10 - ((await payloads(app)).length - before))
        yield Buffer.from(lines(10))
      }
    }
    const stdin = Readable.from(input(), { highWaterMark: 1 })
    const stdout = capture()
    assert.equal(await main(['notarize', '--ndjson', '--batch', '50'], { stdin, stdout, stderr }), 0)
    assert.ok(ahead <= 50 + 3 * 10, `${ahead} lines ahead`)
    assert.match(stderr.text(), /\r\d+ records {2}\d+\/s/)
  })
})

test('lines that a proxy refuses by content or size are set aside; the others are recorded once', async (t) => {
  const app = await sharedCliApp(t)
  const url = process.env['TALLYSTICK_URL']!
  const mended = { contents: false, size: false }
  const proxy = await startPickyProxy(t, url, (body) => {
    if (!mended.contents && body.includes('<script>')) return 403
    return !mended.size && body.length > 40_000 ? 413 : null
  })
  process.env['TALLYSTICK_URL'] = proxy.url
  t.after(() => {
    process.env['TALLYSTICK_URL'] = url
  })
  const line = (n: number) =>
    JSON.stringify({ n, text: n === 2_000_030 ? '<script>' : 'x'.repeat(n === 2_000_050 ? 60_000 : 3_000) })
  const text = Array.from({ length: 60 }, (_, i) => line(2_000_001 + i)).join('\n')
  const file = app.files.write('proxied.ndjson', text)
  const args = ['notarize', '--ndjson', '--idempotency-key', 'proxied', file]
  const written = async () =>
    (await payloads(app)).map(({ n }) => n!).filter((n) => n > 2_000_000 && n <= 2_000_060)
  const expected = Array.from({ length: 60 }, (_, i) => 2_000_001 + i).filter(
    (n) => n !== 2_000_030 && n !== 2_000_050,
  )
  for (const time of ['first', 'second']) {
    const { code, stdout, stderr } = await runCommand(args)
    assert.equal(code, 1, stderr)
    assert.match(stderr, /line 30 of .*: something in front of the server answers 403 to this record /)
    assert.match(stderr, /line 50 of .* 413 to this record .*accept bodies of 1\.1 MB/)
    assert.match(stderr, /58 records in \d+ batches; 2 lines were skipped, and are not written/)
    const ranges = parseLines(stdout).map((batch) => (batch as { records: number }).records)
    assert.equal(
      ranges.reduce((sum, records) => sum + records, 0),
      58,
    )
    assert.deepEqual(await written(), expected, time)
  }
  const places = app.files.write(
    'places.ndjson',
    [line(2_000_100), line(2_000_030)]
      .map((payload, i) => `{"type":"generic/1","payload":${payload}${i === 1 ? ',"parent":0' : ''}}`)
      .join('\n'),
  )
  const refused = await runCommand(['notarize', '--ndjson', '--items', places])
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /nothing is written/)
})

test('a batch stays within the server’s body limit, and a rerun has the same batch boundaries', async (t) => {
  const large = temporaryFiles(t).write('large.ndjson', `{"text":"${'é'.repeat(50_000)}"}\n`.repeat(100))
  const io = { stdin: process.stdin, stdout: capture(), stderr: capture() }
  const toItem = (line: string) => `{"type":"generic/1","payload":${line}}`
  const sizes: number[] = []
  for await (const { items, lines } of batchLines([large], io, { linesMax: 1_000, toItem })) {
    assert.ok(Buffer.byteLength(`{"records":[${items.join(',')}]}`) <= BATCH_BODY_BYTES_MAX)
    assert.equal(items.length, lines.length)
    sizes.push(lines.length)
  }
  assert.deepEqual(sizes, [41, 41, 18])
})
