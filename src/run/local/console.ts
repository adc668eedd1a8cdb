import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * Builds the console where its sources have changed since, in some tenths of a second, beside what else starts. Where the tools that
 * build it were not installed (`npm ci --omit=dev`) it stays as it is. Answers why there is none; null: there is one.
 */
export async function buildConsole(projectDir: string): Promise<string | null> {
  const built = join(projectDir, 'console', 'dist', 'index.html')
  const isInstalled = ['esbuild', 'preact'].every((name) =>
    existsSync(join(projectDir, 'node_modules', name)),
  )
  if (!isInstalled)
    return existsSync(built)
      ? null
      : 'it was not built: run `npm run build` with the development dependencies, or set TALLYSTICK_CONSOLE=false'
  const script = join(projectDir, 'tools', 'build-console.ts')
  try {
    await promisify(execFile)(process.execPath, [script, '--if-stale'], { cwd: projectDir })
    return null
  } catch (error) {
    return (error as Error).message
  }
}
