"""Altered archives: for each, both verifiers give the same verdict, with and without document keys. No
verifier crashes.
"""

from __future__ import annotations

from pathlib import Path

import archives
import forge
import pytest
from archives import Altered, Draft
from oracle import ours, verdicts

BUG = 70


def small() -> Draft:
    """Returns an archive with each form of line. It has two seals, with two pieces each. A later entry
    erases a document of an older piece.
    """
    chain = forge.Chain('archived')
    admin = chain.api_key(chain.agent('admin'), forge.SCOPES)
    chain.type('order/1', admin)
    chain.notarize(admin, {'a': 1}, references=['x'])
    chain.batch(admin, [{'i': 0}, {'i': 1}])
    chain.erase(admin, 4)
    chain.notarize(admin, {'a': 2})
    chain.type('other/1', admin)
    chain.erase(admin, 5, 1)
    return Draft(chain, [6, len(chain.lines)])


def large() -> Draft:
    chain = forge.a_little_of_everything('archived', restored=False)
    return Draft(chain, [20, 45, len(chain.lines)])


def differences(draft: Draft, altered: list[Altered], directory: Path, keyed: tuple[bool, ...] = (False, True)) -> list[str]:
    """Returns the altered archives for which the verdicts of the verifiers differ. `keyed`: whether
    document keys are given.
    """
    keys = directory / 'keys'
    keys.write_bytes(draft.keys())
    made = [(about, archives.write(files, directory / str(index))) for index, (about, files) in enumerate(altered)]
    asked = [(about, [str(path), *(['--archive-key', str(keys)] if one else [])]) for about, path in made for one in keyed]
    theirs = verdicts(['verify', '--threads', '0', '--archive', *arguments] for _, arguments in asked)
    found = []
    for (about, arguments), their in zip(asked, theirs, strict=True):
        own = ours(arguments)
        # For refused archives, only one of the verifiers names the refused entry, so it is not
        # compared.
        if own[:3] != their[:3] or (own[0] == 0 and own != their) or own[0] == BUG:
            found.append(f'{about}: {arguments}\n  ours   {own}\n  theirs {their}')
    return found


@pytest.mark.parametrize('draft', [small(), large()], ids=['small', 'large'])
def test_an_archive_that_is_whole_verifies(draft: Draft, tmp_path: Path) -> None:
    assert differences(draft, [('whole', draft.files())], tmp_path) == []
    assert ours([str(tmp_path / '0'), '--archive-key', str(tmp_path / 'keys')])[0] == 0


def test_every_member_of_a_seal(tmp_path: Path) -> None:
    draft = small()
    assert differences(draft, archives.every_member_of_seals(draft), tmp_path, (False,)) == []


def test_every_region_of_every_object(tmp_path: Path) -> None:
    draft = small()
    assert differences(draft, archives.every_region_of_objects(draft, 6), tmp_path, (True,)) == []


def test_every_form_of_gzip(tmp_path: Path) -> None:
    draft = small()
    assert differences(draft, archives.gzips(draft), tmp_path, (False,)) == []
