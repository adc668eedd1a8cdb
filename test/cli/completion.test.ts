import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { COMMANDS } from '../../cli/commands.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { runCommand } from '../helpers/run-command.ts'

/** What bash offers at the end of each line, when it has read the script. */
function offers(script: string, lines: readonly string[]): string[][] {
  const asked = lines.map(
    (line) =>
      `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _tallystick; echo "\${COMPREPLY[*]}"`,
  )
  const bash = `${script}\ncomplete -p tallystick\n${asked.join('\n')}\n`
  const answer = execFileSync('bash', ['--norc', '-eu', '-c', bash], {
    encoding: 'utf8',
    env: bareEnvironment(),
  })
  const [registered, ...offered] = answer.trimEnd().split('\n')
  assert.equal(registered, 'complete -o default -F _tallystick tallystick')
  return offered.map((words) => words.split(' '))
}

test('bash completes commands, the words of groups, and the options of each command', async () => {
  const { code, stdout } = await runCommand(['completion', 'bash'])
  assert.equal(code, 0)
  const names = Object.keys(COMMANDS)
  const firsts = [...new Set(names.map((name) => name.split(' ')[0]!)), 'help']
  const groups = [...new Set(names.filter((name) => name.includes(' ')).map((name) => name.split(' ')[0]!))]
  const [all, some, ...more] = offers(stdout, [
    "tallystick ''",
    'tallystick ver',
    ...groups.map((group) => `tallystick ${group} ''`),
    ...names.map((name) => `tallystick ${name} ${name.includes(' ') ? '' : 'x '}--`),
    'tallystick get --w',
  ])
  assert.deepEqual(all, firsts)
  assert.deepEqual(
    some,
    ['verdict', 'verify'].filter((name) => name.startsWith('ver')),
  )
  for (const [i, group] of groups.entries()) {
    const seconds = names.filter((name) => name.startsWith(`${group} `)).map((name) => name.split(' ')[1])
    assert.deepEqual(more[i], seconds)
  }
  const options = more.slice(groups.length)
  for (const [i, name] of names.entries()) {
    const own = Object.keys((await COMMANDS[name]!.load()).options).map((option) => `--${option}`)
    assert.deepEqual(options[i], own, name)
  }
  assert.deepEqual(options.at(-1), ['--wait'])
})

test('zsh and fish get the same words; another shell is refused', async () => {
  const [zsh, fish] = await Promise.all(['zsh', 'fish'].map((shell) => runCommand(['completion', shell])))
  assert.match(zsh!.stdout, /^#compdef tallystick\n/)
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    assert.ok(
      fish!.stdout.includes(` -a ${name.split(' ').at(-1)} -d '${summary.replaceAll("'", "'\\''")}'`),
      name,
    )
    for (const option of Object.keys((await load()).options)) {
      assert.ok(zsh!.stdout.includes(`--${option}`))
      assert.ok(fish!.stdout.includes(` -l ${option}\n`))
    }
  }
  for (const args of [['tcsh'], [], ['bash', 'zsh']])
    assert.equal((await runCommand(['completion', ...args])).code, 64)
})
