import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readControlMap } from '../../cli/report/control-map.ts'
import { csvField } from '../../cli/report/csv.ts'
import { expectStatus } from '../helpers/app.ts'
import { makePublish } from '../helpers/checkpoints.ts'
import { publishingCliApp } from '../helpers/cli-app.ts'
import { gateLedger } from '../helpers/gated-app.ts'
import { runAlone, runCommand } from '../helpers/run-command.ts'

const HOSTILE = '<script>alert(1)</script>"\'&'

async function setUp(t: TestContext) {
  const app = await publishingCliApp(t)
  const publish = await makePublish(t, app)
  const at = (name: string) => join(app.files.directory, name)
  const gated = await gateLedger(t, app)
  await app.notarize({ type: 'agent-action/1', payload: { kind: 'tool', name: 'search' } })
  await app.notarize({ type: 'agent-outcome/1', payload: { status: 'denied' } })
  const records = [{ type: 'approval/1', payload: { decision: 'deny', by: { kind: 'person', id: HOSTILE } } }]
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
  await gated.reach('ACCEPTED')
  await gated.reach('REJECTED')
  await app.notarize({ type: 'generic/1', payload: { status: HOSTILE } })
  await app.notarize({ type: 'generic/1', payload: { status: '=1+1' } })
  await publish()
  const file = at('x.bundle')
  const head = (await app.entries()).length - 1
  assert.equal((await runCommand(['bundle', '--from', '0', '--to', String(head), '-o', file])).code, 0)
  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  return { at, file, noteVerifierKey }
}

test('a report of a bundle', async (t) => {
  const { at, file, noteVerifierKey } = await setUp(t)
  await t.test('groups its rows by the controls of a map, and ends with the verifier’s line', () =>
    groups(at, file, noteVerifierKey),
  )
  await t.test('a bundle that does not verify, or an invalid map, is refused', () => refuses(at, file))
})

type At = (name: string) => string

async function groups(at: At, file: string, noteVerifierKey: string) {
  const map = at('map.yaml')
  writeFileSync(
    map,
    `title: "${'Mine <b>'}"
controls:
  - {id: "=V", title: Verdicts, kinds: [verdict-rendered]}
  - {id: A, title: Actions, types: [agent-action, agent-outcome/1, approval]}
`,
  )
  const make = async (format: string) => {
    const out = at(`x.${format}`)
    const args = [
      'report',
      file,
      '--format',
      format,
      '--controls',
      map,
      '--note-key',
      noteVerifierKey,
      '-o',
      out,
    ]
    assert.deepEqual(await runAlone(args), { code: 0, stdout: '', stderr: '' })
    return readFileSync(out, 'utf8')
  }
  const [html, csv, json] = [await make('html'), await make('csv'), JSON.parse(await make('json'))]

  assert.deepEqual(
    json.rows
      .filter(({ controls }: { controls: string[] }) => controls.length > 0)
      .map((row: Record<string, unknown>) => [row['kind'], row['outcome'], row['denied'], row['controls']]),
    [
      ['record-notarized', '', false, ['A']],
      ['record-notarized', 'denied', true, ['A']],
      ['batch-notarized', 'deny', true, ['A']],
      ['verdict-rendered', 'accept', false, ['=V']],
      ['verdict-rendered', 'reject', true, ['=V']],
    ],
  )
  assert.match(json.verified, /^BUNDLE_OK .* completeness=complete .* note-key=given /)
  assert.equal(json.days[0].denied, 3)
  const verdicts = json.rows.filter(({ kind }: { kind: string }) => kind === 'verdict-rendered')
  assert.ok(
    verdicts.every(({ type }: { type: string }) => type !== ''),
    'a step has the type of its record',
  )

  const lines = csv.split('\r\n')
  assert.equal(lines.length, json.rows.length + 3)
  // Two of the records have an outcome with special characters, a script and a formula. Both are shown as `other`.
  assert.equal(json.rows.filter(({ outcome }: { outcome: string }) => outcome === 'other').length, 2)
  assert.doesNotMatch(csv + html, /alert|1\+1/)
  assert.ok(lines.some((line) => line.endsWith(",'=V")))
  assert.match(lines.at(-2)!, /^BUNDLE_OK /)

  assert.ok(html.includes('<h1>Mine &lt;b&gt;</h1>'))
  assert.doesNotMatch(html, /<script|<b>|https?:|url\(| on\w+=/)
  assert.equal(html.match(/<section>/g)!.length, 2)
  assert.match(html, /<p>2 in all\.<\/p>.*<p>3 in all\.<\/p>/s)
  assert.match(html, /Denials<\/figcaption><svg /)
  assert.match(html, /<footer><p>BUNDLE_OK [^<]*<\/p><\/footer>/)
}

async function refuses(at: At, file: string) {
  const text = readFileSync(file, 'utf8')
  writeFileSync(at('wrong.bundle'), text.replace('"status":"denied"', '"status":"ok"'))
  const out = at('no.html')
  const refused = await runAlone(['report', at('wrong.bundle'), '-o', out])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /BUNDLE_FAILED( seq=\d+)? code=document_digest/)
  assert.throws(() => readFileSync(out))
  for (const [map, message] of [
    ['a: [', /is not YAML/],
    ['title: x\ncontrols: []\n', /is not a control map: controls/],
    [
      'title: x\ncontrols: [{id: a, title: b, kinds: [nothing]}]\n',
      /is not a control map: controls.0.kinds.0/,
    ],
    ['title: x\ncontrols: [{id: a, title: b}, {id: a, title: c}]\n', /two controls have the same id/],
  ] as const) {
    writeFileSync(at('map.yaml'), map)
    const { code, stderr } = await runAlone(['report', file, '--controls', at('map.yaml'), '-o', out])
    assert.equal(code, 64)
    assert.match(stderr, message)
  }
}

test('fields are safe for spreadsheets', () => {
  for (const start of ['=', '+', '-', '@', '\t']) assert.equal(csvField(`${start}x`), `'${start}x`)
  assert.equal(csvField('\rx'), `"'\rx"`)
  assert.deepEqual(['a,b', 'a"b', 'a\nb', 'a=b'].map(csvField), ['"a,b"', '"a""b"', '"a\nb"', 'a=b'])
})

test('the example control maps are valid', async () => {
  const folder = join(import.meta.dirname, '../../examples/controls')
  for (const name of readdirSync(folder)) {
    const { title, note } = await readControlMap(join(folder, name))
    assert.match(title, /\(example\)$/)
    assert.match(note!, /^An example of a control map/)
  }
})
