/*
 * npm run drill -- site
 *
 * Builds the documentation as a site in site/dist, from the Markdown of the repository. For each page it writes HTML
 * and Markdown. It also writes llms.txt and a search that needs no server. If the lock file in site/ has changed, it
 * installs VitePress there. Fails if a link or an anchor leads nowhere.
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../bundle.ts'
import { npm } from '../pack.ts'
import { checkBuiltLinks } from './check-links.ts'
import { groupsOf, llmsText, readSite } from './pages.ts'

const SITE = join(ROOT, 'site')
const PAGES = join(SITE, 'dist.pages')
const OUT = join(SITE, 'dist')
const FAULTS_SHOWN_MAX = 50

const { base } = parseArgs({ options: { base: { type: 'string', default: '/' } } }).values
await install()
const { pages, files } = readSite(ROOT)
await rm(PAGES, { recursive: true, force: true })
for (const { path, text } of pages) await write(join(PAGES, path), text)
await write(join(PAGES, 'menu.json'), JSON.stringify(menu()))
// Copies the linked files. VitePress includes images in pages, and serves the other files unchanged.
for (const [path, file] of files) {
  await copy(file, join(PAGES, path))
  await copy(file, join(PAGES, 'public', path))
}
await build()
for (const { path, text } of pages) await write(join(OUT, path), text)
await write(join(OUT, 'llms.txt'), llmsText(pages))
const faults = checkBuiltLinks(OUT, base)
for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) console.log(`FAIL ${fault}`)
if (faults.length > 0) {
  console.log(`${faults.length} links lead nowhere`)
  process.exitCode = 1
} else console.log(`ok   ${pages.length} pages in site/dist`)

/** Installs VitePress. The lock file is copied last, so that an interrupted installation is repeated. */
async function install(): Promise<void> {
  const lock = readFileSync(join(SITE, 'package-lock.json'), 'utf8')
  const installed = join(SITE, 'node_modules', '.installed-lock.json')
  if (globSync(installed).length > 0 && readFileSync(installed, 'utf8') === lock) return
  await npm(['ci', '--no-audit', '--no-fund'], SITE)
  writeFileSync(installed, lock)
}

function menu(): unknown {
  return groupsOf(pages).map(({ title, pages }, i) => ({
    text: title,
    collapsed: i > 0,
    items: pages.map(({ title, path }) => ({ text: title, link: `/${path.replace(/(index)?\.md$/, '')}` })),
  }))
}

async function build(): Promise<void> {
  const vitepress = join(SITE, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
  // File name endings of linked files that are not pages. VitePress would take a link to an unknown ending for a link
  // to a page.
  const endings = new Set([...files.keys()].map((path) => path.split('.').at(-1)!))
  const env = { ...process.env, VITE_EXTRA_EXTENSIONS: [...endings].join(',') }
  const child = spawn(process.execPath, [vitepress, 'build', SITE, '--base', base], { env, stdio: 'inherit' })
  const code = await new Promise((done) => child.on('close', done))
  if (code !== 0) throw new Error(`vitepress build: exit code ${code}`)
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

async function copy(file: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await copyFile(join(ROOT, file), to)
}
