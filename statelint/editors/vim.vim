" Vim compiler file for statelint: ~/.vim/compiler/statelint.vim
" :compiler statelint, then :make lints the current folder, and :make % the current file.

if exists("current_compiler")
  finish
endif
let current_compiler = "statelint"

let s:cpo_save = &cpo
set cpo&vim

CompilerSet makeprg=statelint\ --output-format\ concise\ $*
CompilerSet errorformat=
  \%f:%l:%c:\ SL%n\ [%trror]\ %m,
  \%f:%l:%c:\ SL%n\ [%tarning]\ %m,
  \%f:%l:%c:\ SL%n\ [%tnfo]\ %m,
  \statelint:\ %trror:\ %m,
  \statelint:\ %tarning:\ %m,
  \%-G%.%#

let &cpo = s:cpo_save
unlet s:cpo_save
