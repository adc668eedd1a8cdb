import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkBuiltLinks } from '../../tools/site/check-links.ts'
import { groupsOf, llmsText, readSite } from '../../tools/site/pages.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')

test('links lead to paths of the site: docs/ is its root, other files are below repository/', (t) => {
  const root = makeFiles(t, {
    'docs/README.md':
      '# D\n[a](a.md#b), [`[x]`](formats/), ![i](i.png)\n[c](../sdk/README.md) [l](../LICENSE)\n[dir](../deploy) [w](https://w.example) [s](#d)',
    'docs/a.md': '# A\n[up](README.md)\n\n## B\n',
    'docs/formats/README.md': '# F\n`[no](link.md)`\n```\n[no](link.md)\n```\n[v](../../test/v.json)\n',
    'docs/i.png': '',
    'sdk/README.md': '# S\n[d](../docs/a.md)',
    LICENSE: '',
    'deploy/x.yaml': '',
    'test/v.json': '',
  })
  const { pages, files } = readSite(root)
  assert.deepEqual(Object.fromEntries(pages.map(({ path, text }) => [path, text])), {
    'index.md':
      '# D\n[a](a.md#b), [`[x]`](formats/index.md), ![i](i.png)\n[c](repository/sdk/index.md) [l](repository/LICENSE.txt)\ndir [w](https://w.example) [s](#d)',
    'a.md': '# A\n[up](index.md)\n\n## B\n',
    'formats/index.md': '# F\n`[no](link.md)`\n```\n[no](link.md)\n```\n[v](../repository/test/v.json)\n',
    'repository/sdk/index.md': '# S\n[d](../../a.md)',
  })
  assert.deepEqual([...files.keys()], ['i.png', 'repository/LICENSE.txt', 'repository/test/v.json'])
})

test('a broken link, and a page without a title, are reported', (t) => {
  assert.throws(
    () => readSite(makeFiles(t, { 'docs/README.md': '# D\n[a](gone.md)' })),
    /docs\/README\.md: the link to docs\/gone\.md is broken/,
  )
  assert.throws(() => readSite(makeFiles(t, { 'docs/README.md': 'D' })), /docs\/README\.md: has no title/)
})

test('each page of the documentation is in the menu and in llms.txt, with its title', () => {
  const { pages } = readSite(ROOT)
  const text = llmsText(pages)
  for (const { title, path } of pages) assert.ok(text.includes(`\n- [${title}](${path})`), path)
  const grouped = groupsOf(pages).flatMap(({ pages }) => pages)
  assert.equal(grouped.length, pages.length)
  assert.ok(pages.length > 50)
})

test('each broken link and anchor of a built site is reported', (t) => {
  const root = makeFiles(t, {
    'index.html':
      '<h1 id="top">T</h1><a href="/x/a/b.html#c"></a><a href="#top"></a><a href="#no"></a><a href="a/"></a><img src="/x/gone.png"><script>href="gone"</script>',
    'a/index.html': '<a href="../index.html#top"></a><a href="https://w.example"></a>',
    'a/b.html': '<p id="c"></p><a href="b.html#d"></a>',
  })
  assert.deepEqual(checkBuiltLinks(root, '/x/').sort(), [
    'a/b.html: nothing has the id d in a/b.html',
    'index.html: nothing has the id no in index.html',
    'index.html: the link to /x/gone.png is broken',
  ])
})

function makeFiles(t: TestContext, files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'tallystick-site-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}
