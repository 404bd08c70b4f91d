;; statelint in Emacs: for the init file.

;; M-x compile RET statelint RET
(with-eval-after-load 'compile
  (add-to-list 'compilation-error-regexp-alist-alist
               '(statelint
                 "^\\(.+?\\):\\([0-9]+\\):\\([0-9]+\\): SL[0-9]+ \\[\\(?:error\\|\\(warning\\)\\|\\(info\\)\\)\\] "
                 1 2 3 (4 . 5)))
  (add-to-list 'compilation-error-regexp-alist 'statelint))

;; Flymake asks statelint about the buffer, saved or not, in the place of pyflakes.
(setq python-flymake-command-output-pattern
      '("^.+?:\\([0-9]+\\):\\([0-9]+\\): \\(SL[0-9]+ \\[[a-z]+\\] .+\\)$" 1 2 nil 3)
      python-flymake-msg-alist
      '(("\\`SL[0-9]+ \\[warning\\]" . :warning)
        ("\\`SL[0-9]+ \\[info\\]" . :note)))

(defun statelint-flymake-setup ()
  (setq-local python-flymake-command
              (list "statelint" "--quiet" "--color" "never"
                    "--stdin-filename" (or buffer-file-name "-") "-")))
(add-hook 'python-mode-hook #'statelint-flymake-setup)
(add-hook 'python-ts-mode-hook #'statelint-flymake-setup)
