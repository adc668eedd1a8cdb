import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CONFIGURATION } from '../../src/variables.ts'
import { checkDocs } from '../../tools/check-docs.ts'

test('passes correct pages, and JSON with an ellipsis', (t) => {
  const text =
    '# T\n[src](src/run/config.ts)\n```json\n{"a":1}\n```\n```json\n{"a":…}\n```\n```sh\nnpm start\nnpm ci\n```\n'
  assert.deepEqual(checkDocs(makeDocs(t, text)), [])
})

test('reports each fault with its position', (t) => {
  const text = `[gone](docs/gone.md) TALLYSTICK_NOTHING
\`\`\`json
{"a":1,}
\`\`\`
\`\`\`ts
const a: = 1
\`\`\`
\`\`\`sh
npm run nothing
npm run --silent operate -- faults
node tools/nothing.ts
if then
\`\`\`
`
  const faults = checkDocs(makeDocs(t, text))
  for (const expected of [
    /README\.md:3: the json block does not parse/,
    /README\.md:6: the ts block does not parse/,
    /README\.md:9: the sh block does not parse/,
    /`npm run nothing` is not a script of package\.json/,
    /`npm run operate` is not a script of package\.json/,
    /there is no tools\/nothing\.ts/,
    /the link to docs\/gone\.md is broken/,
    /no code uses TALLYSTICK_NOTHING/,
  ]) {
    assert.equal(
      faults.filter((fault) => expected.test(fault)).length,
      1,
      `${expected} in ${faults.join('\n')}`,
    )
  }
  assert.equal(faults.length, 8)
})

test('reports a link to a missing heading, on the same page or another one', (t) => {
  const text = `# The *first* one: \`npm start\`, and ((more))
[here](#the-first-one-npm-start-and-more) [there](docs/page.md#its-parts) [not here](#second) [not there](docs/page.md#part)
`
  const root = makeDocs(t, text)
  writeFileSync(join(root, 'docs', 'README.md'), '[](page.md) [](operate/settings.md)')
  writeFileSync(join(root, 'docs', 'page.md'), '# Page\n\n## Its parts\n\n```sh\n# part\n```\n')
  assert.deepEqual(checkDocs(root), [
    'README.md: README.md has no heading #second',
    'README.md: docs/page.md has no heading #part',
  ])
})

test('checks pages of the SDK and examples too, and accepts a script that a block creates', (t) => {
  const root = makeDocs(t, "```sh\ncat > agent.mjs <<'END'\n1\nEND\nnode agent.mjs\n```\n")
  for (const [folder, page] of [
    ['sdk', 'README.md'],
    ['examples/fleet', 'README.md'],
  ] as const) {
    mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, folder, page), '[gone](gone.md)\n')
  }
  assert.deepEqual(checkDocs(root), [
    'examples/fleet/README.md: the link to gone.md is broken',
    'sdk/README.md: the link to gone.md is broken',
  ])
})

test('requires one lowest Node, npx before the command, and links to each page', (t) => {
  const root = makeDocs(
    t,
    'Node 20.12 or newer, Node 20.3, Node 22\n```sh\nls | tallystick list\nnpx tallystick list\n```\n',
  )
  writeFileSync(join(root, 'docs', 'far.md'), '[](README.md)')
  writeFileSync(join(root, 'docs', 'README.md'), '[](operate/settings.md)\n```sh\n# [](far.md)\n```\n')
  assert.deepEqual(checkDocs(root), [
    'README.md: Node 20.3 is not the lowest version, 20.12 (package.json)',
    'README.md:3: write npx tallystick',
    'docs/far.md: docs/README.md does not link to it',
  ])
})

test('requires documentation of every variable of the configuration', (t) => {
  const root = makeDocs(t, '')
  writeFileSync(join(root, 'docs', 'operate', 'settings.md'), CONFIGURATION.slice(1).join(' '))
  assert.deepEqual(checkDocs(root), [`docs/operate/settings.md: does not explain ${CONFIGURATION[0]}`])
})

function makeDocs(t: { after(hook: () => void): void }, readme: string): string {
  const root = mkdtempSync(join(tmpdir(), 'tallystick-docs-'))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src', 'run'), { recursive: true })
  mkdirSync(join(root, 'docs', 'operate'), { recursive: true })
  writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { start: 'true' } }))
  writeFileSync(join(root, 'src', 'run', 'config.ts'), '')
  writeFileSync(join(root, 'docs', 'operate', 'settings.md'), CONFIGURATION.join(' '))
  writeFileSync(join(root, 'docs', 'README.md'), '[](operate/settings.md)')
  writeFileSync(join(root, 'README.md'), readme)
  return root
}
