import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../tools/bundle.ts'
import { npm } from '../../../tools/pack.ts'

/**
 * Installs npm packages into their own folder, unless they are installed already. The folder is separate, because
 * nothing else needs the hundreds of dependencies. Returns the path of `node_modules`.
 */
export async function installPackages(
  name: string,
  dependencies: Readonly<Record<string, string>>,
): Promise<string> {
  const dir = join(ROOT, 'node_modules', '.cache', name)
  const manifest = `${JSON.stringify({ private: true, dependencies })}\n`
  const file = join(dir, 'package.json')
  const modules = join(dir, 'node_modules')
  if (existsSync(join(modules, '.package-lock.json')) && readFileSync(file, 'utf8') === manifest)
    return modules
  mkdirSync(dir, { recursive: true })
  writeFileSync(file, manifest)
  await npm(['install', '--ignore-scripts', '--no-audit', '--no-fund'], dir)
  return modules
}
