import { execFile, spawnSync } from 'node:child_process'
import { cpSync, globSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const VERSIONS = ['3.11', '3.12', '3.13', '3.14']

/**
 * Builds the wheel and the sdist. Installs each of them in an empty environment of every Python on this machine. A
 * program runs in each environment, and mypy and pyright check the program from outside. Prints which Pythons are
 * missing.
 */
export async function tryWheels(
  source: string,
  bin: string,
  dir: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const dist = join(dir, 'dist')
  await must(join(bin, 'python'), ['-m', 'build', '--no-isolation', '--outdir', dist, source])
  const [wheel, sdist] = ['*.whl', '*.tar.gz'].map((name) => join(dist, globSync(name, { cwd: dist })[0]!))
  cpSync(join(source, 'tests/outside'), join(dir, 'outside'), { recursive: true })
  for (const version of VERSIONS) {
    const python = findPython(version)
    if (python === null) {
      console.log(`Python ${version} is not here: the packages were not tried with it`)
      continue
    }
    const venv = join(dir, version)
    await must(python, ['-m', 'venv', venv])
    const inside = join(venv, 'bin', 'python')
    // The wheel is first installed without extras, because the client needs no extras.
    await must(inside, ['-m', 'pip', 'install', '--quiet', version === VERSIONS[0] ? sdist! : wheel!])
    await must(inside, [join(dir, 'outside', 'program.py')], env)
    await must(inside, ['-m', 'pip', 'install', '--quiet', `${wheel}[verify]`])
    await must(inside, ['-c', 'import tallystick.verify'])
    const program = join(dir, 'outside', 'program.py')
    await must(join(bin, 'mypy'), ['--strict', '--config-file=', `--python-executable=${inside}`, program])
    await must(join(bin, 'pyright'), ['--pythonpath', inside, program])
    console.log(`Python ${version}: installed, run, and checked from outside`)
  }
}

/** Looks for the interpreter on the PATH and in the folder of pyenv. Returns null if it is missing. */
function findPython(version: string): string | null {
  const root = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions')
  const kept = spawnSync('test', ['-d', root]).status === 0 ? readdirSync(root) : []
  const places = kept.filter((name) => name.startsWith(`${version}.`)).map((name) => join(root, name, 'bin'))
  const candidates = [`python${version}`, ...places.map((place) => join(place, `python${version}`))]
  return candidates.find((path) => spawnSync(path, ['--version']).status === 0) ?? null
}

/** Runs a program without blocking this process, because this process is also the server. */
async function must(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  await run(file, args, { env: { ...process.env, ...env, PYTHONPATH: '' } })
}
