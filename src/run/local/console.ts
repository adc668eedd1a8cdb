import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * Builds the console if its sources have changed. This takes some tenths of a second, in parallel with the rest of the
 * start. Without the build tools (`npm ci --omit=dev`) the existing build stays. Returns null if there is a console,
 * otherwise the reason why there is none.
 */
export async function buildConsole(projectDir: string): Promise<string | null> {
  const built = join(projectDir, 'console', 'dist', 'index.html')
  const isInstalled = ['esbuild', 'preact'].every((name) =>
    existsSync(join(projectDir, 'node_modules', name)),
  )
  if (!isInstalled)
    return existsSync(built)
      ? null
      : 'it is not built: run `npm run build` with the development dependencies, or set TALLYSTICK_CONSOLE=false'
  const script = join(projectDir, 'tools', 'build-console.ts')
  try {
    await promisify(execFile)(process.execPath, [script, '--if-stale'], { cwd: projectDir })
    return null
  } catch (error) {
    return (error as Error).message
  }
}
