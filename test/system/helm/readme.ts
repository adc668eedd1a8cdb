import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHART_DIR, execute } from './command.ts'

const README = join(CHART_DIR, 'README.md')
// Not --documentation-strict-mode: it knows none of the comments `# --` that the same tool reads. chart.test.ts looks instead.
const OPTIONS = ['--sort-values-order', 'file', '--skip-version-footer']

/** README.md is what helm-docs makes of values.yaml and README.md.gotmpl; `write` makes it so. */
export async function checkReadme(helmDocs: string, write = false): Promise<string[]> {
  const args = ['--chart-search-root', CHART_DIR, '--dry-run', ...OPTIONS]
  const { code, stdout, stderr } = await execute(helmDocs, args)
  // A file that it cannot read it skips with a message, and succeeds.
  if (code !== 0 || stdout.trim() === '') return [stderr.trim()]
  const made = `${stdout.trim()}\n`
  if (write) writeFileSync(README, made)
  if (readFileSync(README, 'utf8') === made) return []
  return ['helm/tallystick/README.md is out of date: npm run chart -- --write']
}
